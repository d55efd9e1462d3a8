"""What the tests of Whence, and of whatever is built on it, stand on: descriptions of networks, an oracle, suites.

A `description` says what a network is without Spark and without the engine. `build` turns it into calls of
DataFrame's methods, so one description runs plainly, runs traced, and is evaluated by `oracle`, which is plain
Python and imports nothing of the engine: three answers that must agree.
"""
