"""The operator's end of the agent's gRPC service.

Owns: one channel to one agent, with mutual TLS and the agent's name checked. Refuses to know: what to order, and when.
gRPC compares host names only, so the agent's identity is compared in its form as a host name (identity.py).
"""

from typing import Any, TypeVar

import grpc
from google.protobuf import message_factory
from google.protobuf.message import Message

from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.wire.identity import Identity
from valkey_operator.wire.tls import TlsFiles, read_pems

_SERVICE = pb.DESCRIPTOR.services_by_name["Agent"]
_Reply = TypeVar("_Reply", pb.Result, pb.NodeReport)


class AgentClient:
    """Calls one agent; use it as a context. Certificates are read when it is made: make a new one after a rotation."""

    def __init__(self, address: str, agent: Identity, files: TlsFiles) -> None:
        pems = read_pems(files)
        credentials = grpc.ssl_channel_credentials(pems.roots, pems.key, pems.certificate)
        options = [
            ("grpc.ssl_target_name_override", agent.host_name),
            ("grpc.enable_http_proxy", 0),
            # A new channel connects at once, instead of sitting out the pauses that a former one has run up.
            ("grpc.use_local_subchannel_pool", 1),
        ]
        self._channel = grpc.aio.secure_channel(address, credentials, options=options)

    async def __aenter__(self) -> "AgentClient":
        """Connect when first called."""
        return self

    async def __aexit__(self, *_problem: object) -> None:
        """Hang up."""
        await self.close()

    async def close(self) -> None:
        """Hang up; a call under way is cancelled, and so is the task that awaits it."""
        await self._channel.close(None)

    async def report(self, *, timeout_s: float) -> pb.NodeReport:
        """The agent's state at this moment; raises grpc.aio.AioRpcError."""
        return await self._call("Report", pb.ReportRequest(), pb.NodeReport, timeout_s)

    async def order(self, name: str, request: Message, *, timeout_s: float) -> pb.Result:
        """Give an order by the name it has in agent.proto; raises grpc.aio.AioRpcError."""
        return await self._call(name, request, pb.Result, timeout_s)

    async def _call(self, name: str, request: Any, reply: type[_Reply], timeout_s: float) -> _Reply:  # noqa: ANN401
        method = _SERVICE.methods_by_name[name]
        call = self._channel.unary_unary(
            f"/{_SERVICE.full_name}/{name}",
            request_serializer=message_factory.GetMessageClass(method.input_type).SerializeToString,
            response_deserializer=reply.FromString,
        )
        answer: _Reply = await call(request, timeout=timeout_s)
        return answer
