"""What an agent of the modelled cluster reports of its node.

Owns: the report. Refuses to know: to whom it gets, and when.
"""

import msgspec

from tests.sim.cluster_servers import address_of
from tests.sim.cluster_world import Node
from valkey_operator.core.node_view import CopyView, LinkView, NodeView
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.states import Health


def report(node: Node) -> NodeView:
    server = node.running
    copy = CopyView(rdb=node.saved_offset >= 0, epoch=0, offset=max(0, node.saved_offset))
    base = NodeView(
        pod_uid="uid",
        boot_id="boot",
        seq=1,
        process=node.state,
        copy=copy,
        promised_epoch=node.licence.epoch,
        terms=node.licence.terms,
        keeps_terms=True,
    )
    if server is None:
        return base
    role = server.own.role
    link = LinkView(primary=address_of("primary"), up=server.linked) if role is Role.REPLICA else None
    return msgspec.structs.replace(
        base,
        health=Health.ANSWERS,
        version=node.version,
        role=role,
        offset=server.offset,
        link=link,
        whole=server.whole,
    )
