"""How results and their lineage are delivered together: see `batch`."""
