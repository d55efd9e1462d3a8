"""Ids. `coordinates` needs no Spark; `expressions` is the same in Columns."""
