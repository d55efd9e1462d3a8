"""The store: Delta tables, committed by delta-rs, over Parquet files that Spark's executors write."""

from deltalake.transaction import AddAction

from whence.store.location import Location, local_path, locate
from whence.store.record import NetworkRecord, batch_rows, networks, now
from whence.store.retention import free, kept_batches
from whence.store.store import Store, open_store

__all__ = [
    "AddAction",
    "Location",
    "NetworkRecord",
    "Store",
    "batch_rows",
    "free",
    "kept_batches",
    "local_path",
    "locate",
    "networks",
    "now",
    "open_store",
]
