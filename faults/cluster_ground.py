"""The ValkeyCluster that faults are staged on, seen from one of its shards."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar
from urllib.parse import urlencode

from faults.agreement import disagreement
from faults.cast import Cast, ClusterCast
from faults.connection import Command, Reply, ask_once
from faults.ground import Ground
from faults.problems import NotThereError, first_line
from faults.settings import NAME, NODES_PER_SHARD, SHARDS
from faults.sight import Sight
from faults.slot_map import tag_that_moves
from testbed.addons.kubeapi import Json
from valkey_operator.core.names import OWNER_LABEL, cluster_place
from valkey_operator.valkey.cluster_nodes import ClusterError, own_line
from valkey_operator.valkey.slots import SLOT_COUNT, Slots

LOOK_PATIENCE_S = 5.0
NODES_SEEN: Command = ("CLUSTER", "NODES")


@dataclass(frozen=True)
class ClusterGround(Ground):
    """What faults call the primary and its replicas are those of this shard."""

    shard: int = 0

    nodes: ClassVar[int] = SHARDS * NODES_PER_SHARD
    settled_within_s: ClassVar[float] = 300.0

    def for_fault(self, variant: int) -> "ClusterGround":
        return replace(self, shard=variant % SHARDS)

    def status(self) -> Json:
        return dict(self.request("GET", self.path).get("status", {}))

    def primaries(self) -> dict[int, str]:
        """Of the shards that have one."""
        shards = self.status().get("shards", [])
        return {each["shardIndex"]: each["primary"] for each in shards if each.get("primary")}

    def primary(self) -> str:
        return self.primary_of(self.shard)

    def primary_of(self, shard: int) -> str:
        found = self.primaries()
        if shard not in found:
            raise NotThereError(f"nobody is primary of shard {shard}; there are {found}")
        return found[shard]

    def replicas(self) -> list[str]:
        primary = self.primary()
        places = {node: cluster_place(NAME, node) for node in self.shop.pods() if node != primary}
        return sorted(node for node, place in places.items() if place and place[0] == self.shard)

    def machines_of_primaries(self) -> dict[int, str]:
        """Where the primary of each shard is."""
        machines = {node: pod["spec"].get("nodeName") for node, pod in self.shop.pods().items()}
        found = {shard: machines.get(node) for shard, node in sorted(self.primaries().items())}
        return {shard: str(machine) for shard, machine in found.items() if machine}

    def slots(self) -> dict[int, Slots]:
        """Of each shard, by the words of its primary: a status may shorten them."""
        primaries = self.primaries()
        said = self.tell(dict.fromkeys(primaries.values(), (NODES_SEEN,)))
        try:
            return {shard: own_line(str(said[node][0].value)).slots for shard, node in sorted(primaries.items())}
        except ClusterError as problem:
            raise NotThereError(f"who owns which slots is not told: {problem}") from problem

    def cast(self, run: str, _sight: Sight) -> Cast:
        return ClusterCast(self.door(), run, {shard: tag_that_moves(slots) for shard, slots in self.slots().items()})

    def empty(self) -> None:
        self.order(dict.fromkeys(self.primaries().values(), (("FLUSHALL",),)))

    def delete_all_pods(self) -> None:
        """By force, with one request."""
        selector = urlencode({"labelSelector": f"{OWNER_LABEL}={NAME}"})
        self.request("DELETE", f"/api/v1/namespaces/{self.namespace}/pods?{selector}", {"gracePeriodSeconds": 0})

    def is_whole(self, status: Json) -> bool:
        shards = status.get("shards", [])
        all_served = status.get("slotsAssigned") == SLOT_COUNT and not status.get("migration")
        return super().is_whole(status) and all_served and len(shards) == SHARDS

    def untruth(self) -> str:
        try:
            said = self.tell(dict.fromkeys(self.shop.pods(), (NODES_SEEN,)))
            primaries = self.primaries()
        except (AssertionError, NotThereError, OSError, TimeoutError) as problem:
            return f"the nodes could not be asked: {first_line(problem)}"
        if len(said) != self.nodes:
            return f"there are {len(said)} nodes"
        return disagreement({node: str(replies[0].value) for node, replies in said.items()}, primaries)

    def order(self, commands: Mapping[str, Sequence[Command]]) -> None:
        """Whose answers do not matter unless they are refusals."""
        for node, replies in self.tell(commands).items():
            if refused := [reply.value for reply in replies if reply.error]:
                raise NotThereError(f"{node} refuses {len(refused)} of {len(replies)} commands: {refused[0]}")

    def tell(self, commands: Mapping[str, Sequence[Command]]) -> dict[str, list[Reply]]:
        """What each of these nodes answers, asked at the address of its pod."""
        netns, password = self.network_of(self.clients_on), self.shop.password()
        addresses = {node: pod["status"].get("podIP") for node, pod in self.shop.pods().items()}
        if missing := [node for node in commands if not addresses.get(node)]:
            raise NotThereError(f"{', '.join(missing)} without a pod that has an address")

        async def ask_all() -> dict[str, list[Reply]]:
            said = {}
            for node, words in commands.items():
                said[node] = await ask_once(netns, addresses[node], password, words, patience_s=LOOK_PATIENCE_S)
            return said

        return asyncio.run(ask_all())
