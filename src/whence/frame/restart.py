"""Whether a checkpoint and a network fit: lineage cannot be switched on, or changed, over old state."""

from __future__ import annotations

from whence.deliver.checkpoint import Checkpoint
from whence.errors import CheckpointError
from whence.store import NetworkRecord, Store, networks


def check_restart(folder: str, store: Store, network: NetworkRecord) -> None:
    """Refuse a checkpoint that was made without lineage, for another store, or by a network with other steps."""
    checkpoint = Checkpoint.at(folder)
    run = checkpoint.run()
    if run is None:
        return
    before = [n for n in networks(store) if n.run == run]
    if not before:
        if checkpoint.has_batches():
            raise CheckpointError(
                f'the checkpoint "{checkpoint.location.path}" was made without lineage, or for another store',
                f"query {run} is not known to {store.location.path}; tags change the layout of state",
                "start with a new checkpoint",
            )
        return
    last = before[-1]
    if last.sink != network.sink:
        raise CheckpointError(
            f'the checkpoint belongs to sink "{last.sink}"',
            f'this query writes "{network.sink}"',
            "keep the name, or start with a new checkpoint",
        )
    for what in ("mode", "output_mode"):
        if getattr(last, what) != getattr(network, what):
            raise CheckpointError(
                f"the checkpoint was made in {what.replace('_', ' ')} {getattr(last, what)}",
                f"this query asks for {getattr(network, what)}",
                "what rides on a row is fixed for the life of a checkpoint: start with a new one",
            )
    _check_steps(last, network)


def _check_steps(last: NetworkRecord, network: NetworkRecord) -> None:
    old, new = last.declared["steps"], network.declared["steps"]
    for before, after in zip(old, new, strict=False):
        if before != after:
            raise CheckpointError(
                f"{before['step']} has changed since the checkpoint was made",
                f"it was {before['text']}, it is {after['text']}",
                "start with a new checkpoint",
            )
    if len(old) != len(new):
        more = (old if len(old) > len(new) else new)[min(len(old), len(new))]
        verb = "gone" if len(old) > len(new) else "new"
        raise CheckpointError(
            f"{more['step']} is {verb} since the checkpoint was made", more["text"], "start with a new checkpoint"
        )
    gone = last.declared["sources"].keys() ^ network.declared["sources"].keys()
    if gone:
        raise CheckpointError(
            f"the sources have changed since the checkpoint was made: {', '.join(sorted(gone))}",
            hint="keep the names of sources, or start with a new checkpoint",
        )
    types = last.layout["types"]
    for column, kind in network.layout["types"].items():
        if types.get(column, kind) != kind:
            raise CheckpointError(
                f'column "{column}" has another type than when the checkpoint was made',
                f"it was {types[column]}, it is {kind}",
                "cast it back, give the new column a new name, or start with a new checkpoint",
            )
    if last.layout["ids"] != network.layout["ids"] or last.layout["kept"] != network.layout["kept"]:
        raise CheckpointError(
            "what rides on a row has changed since the checkpoint was made", hint="start with a new one"
        )
