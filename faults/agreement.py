"""Whether the nodes of a cluster agree with each other and with its status, from what each of them says. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping

from valkey_operator.valkey.cluster_nodes import ClusterError, Failing, NodesView, parse_nodes
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.slots import ALL_SLOTS, SLOT_COUNT, union


def disagreement(said: Mapping[str, str], primaries: Mapping[int, str]) -> str:
    """The first thing that is wrong, or nothing: from CLUSTER NODES of each node, and the primaries of the status."""
    try:
        views = {node: parse_nodes(text) for node, text in sorted(said.items())}
    except ClusterError as problem:
        return str(problem)
    return next(disagreements(views, primaries), "")


def disagreements(views: Mapping[str, NodesView], primaries: Mapping[int, str]) -> Iterator[str]:
    yield from doubts(views)
    yield from wrong_owners(views)
    yield from open_slots(views)
    yield from alike_epochs(views)
    yield from wrong_roles(views, primaries)


def doubts(views: Mapping[str, NodesView]) -> Iterator[str]:
    """Strangers, and those who are not heard."""
    for node, view in views.items():
        if len(view.lines) != len(views):
            yield f"{node} knows of {len(view.lines)} nodes, and there are {len(views)}"
        for line in view.others:
            if line.failing is not Failing.NO or not line.connected:
                yield f"{node} does not hear {line.hostname or line.id}"


def owners_in(view: NodesView) -> dict[str, str]:
    return {line.id: str(line.slots) for line in view.lines if line.slots}


def wrong_owners(views: Mapping[str, NodesView]) -> Iterator[str]:
    """Every slot has one owner, and it is the same for all."""
    told = {node: owners_in(view) for node, view in views.items()}
    first = next(iter(told), "")
    for node, owners in told.items():
        if owners != told[first]:
            yield f"{first} sees the owners {told[first]}, and {node} sees {owners}"
    for node, view in views.items():
        count = sum(len(line.slots) for line in view.lines)
        if count != SLOT_COUNT or union(line.slots for line in view.lines) != ALL_SLOTS:
            yield f"{node} sees owners of {count} slots, and there are {SLOT_COUNT}"


def open_slots(views: Mapping[str, NodesView]) -> Iterator[str]:
    for node, view in views.items():
        if view.myself.open_slots:
            yield f"{node} has the open slots {', '.join(str(each.slot) for each in view.myself.open_slots)}"


def alike_epochs(views: Mapping[str, NodesView]) -> Iterator[str]:
    """Replicas tell that of their primary."""
    own = {node: view.myself for node, view in views.items() if view.myself.role is Role.PRIMARY}
    counted = Counter(line.epoch for line in own.values())
    for epoch in (each for each, count in counted.items() if count > 1):
        alike = [node for node, line in own.items() if line.epoch == epoch]
        yield f"{' and '.join(alike)} have the same epoch {epoch}"


def wrong_roles(views: Mapping[str, NodesView], primaries: Mapping[int, str]) -> Iterator[str]:
    owning = {node for node, view in views.items() if view.myself.role is Role.PRIMARY and view.myself.slots}
    if owning != set(primaries.values()):
        yield f"the status names {dict(primaries)}, and by their own words {', '.join(sorted(owning))} own slots"
    ids = {views[node].myself.id for node in owning}
    for node, view in views.items():
        if node not in owning and view.myself.primary not in ids:
            yield f"{node} follows nobody who owns slots"
