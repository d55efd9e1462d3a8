"""The command line: a thin layer over the library, one file a command. It imports without PySpark."""


def main() -> None:
    """What the ``whence`` command runs."""
    from whence.cli.app import app

    app(prog_name="whence")
