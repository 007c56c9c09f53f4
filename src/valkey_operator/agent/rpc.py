"""Orders over gRPC: who may give them, and what each does.

Owns: the service, its mutual TLS, and the outcome of each order. Refuses to know: why an order was given.

Only the operator's name is served; a certificate that is replaced on disk is used from the next connection on.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import grpc
import structlog
from google.protobuf import message_factory

from valkey_operator.agent.cluster_orders import ClusterOrders
from valkey_operator.agent.configure import bring_settings
from valkey_operator.agent.fence import LicenceKeeper, fence_command
from valkey_operator.agent.gate import AnswerTooLateError, NobodyWaitsError
from valkey_operator.agent.live_settings import NoDefaultError
from valkey_operator.agent.messages import report_message
from valkey_operator.agent.moved_clients import ClientMover, has_clients_of_a_primary
from valkey_operator.agent.node import Node
from valkey_operator.agent.orders import (
    Refusal,
    check_address,
    check_order,
    check_promotion,
    check_running,
    check_start,
    given_by_order,
    terms_in,
)
from valkey_operator.agent.report import Report
from valkey_operator.agent.server import ServerError
from valkey_operator.agent.slot_orders import SlotOrders
from valkey_operator.agent.volume import VolumeTakenError
from valkey_operator.agent.watch import ProcessId
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.valkey.boot import PARK_HOST, PARK_PORT, StartKind
from valkey_operator.valkey.states import Health, ProcessState
from valkey_operator.valkey.terms import Terms
from valkey_operator.wire.identity import Identity, has_identity
from valkey_operator.wire.tls import Pems, TlsFiles, TlsFilesError, read_pems

log = structlog.get_logger(__name__)
_SERVICE = pb.DESCRIPTOR.services_by_name["Agent"]
# A process is seen some milliseconds before it has read as far as the gate.
OPEN_TRIES = 50
OPEN_PAUSE_S = 0.01
LICENCE_WITHIN_S = 1.0
REFRESH_WITHIN_S = 0.35
KILL_AFTER_S = 0.5
_MOST_MESSAGE_BYTES = 1 << 20
Settings = dict[str, str]


class AgentService:
    """Carries orders out, one at a time."""

    def __init__(self, node: Node, licence: LicenceKeeper) -> None:
        self._node = node
        self.clients = ClientMover(node)
        self._licence = licence
        self.orders: Mapping[str, Callable[[Any], Awaitable[Settings | None]]] = {
            "Open": self._open,
            "Follow": self._follow,
            "Promote": self._promote,
            "Park": self._park,
            "Kill": self._kill,
            "Configure": self._configure,
            "Bind": self._bind_running,
            "Release": self._release,
            **ClusterOrders(node).by_name,
            **SlotOrders(node).by_name,
        }

    async def report(self, _request: pb.ReportRequest) -> pb.NodeReport:
        """The state of this moment; of a server that is slow to answer what was known of it before.

        Whoever asks takes a late answer for none, and a node that gives none for lost.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(REFRESH_WITHIN_S):
                await self._node.refresh()
        return self._told(self._node.report)

    async def obey(self, name: str, request: Any) -> pb.Result:  # noqa: ANN401 - one of the order messages
        """Check an order, carry it out, and say how it went."""
        async with self._node.turn:
            try:
                self._accept(name, request)
                settings = await self.orders[name](request)
                outcome, detail = pb.OUTCOME_OBEYED, ""
            except Refusal as refusal:
                settings, outcome, detail = None, refusal.outcome, str(refusal)
            except ServerError as error:
                settings, outcome, detail = None, _outcome_of(error), str(error)
            log.info("order", order=name, outcome=pb.Outcome.Name(outcome), detail=detail)
            report = self._told(await self._node.refresh())
        return pb.Result(outcome=outcome, detail=detail, report=report, settings=settings)

    def _told(self, report: Report) -> pb.NodeReport:
        return report_message(report, asyncio.get_running_loop().time())

    def _accept(self, name: str, request: Any) -> None:  # noqa: ANN401 - one of the order messages
        report = self._node.report
        promise = report.facts.promise
        given = given_by_order(name, request, promise.given)
        self._node.keep_promise(check_order(request.order, pod_uid=report.pod_uid, promise=promise, given=given))
        # An agent that restarted since has not asked, nor has one on a machine whose clock began anew.
        if request.order.HasField("leave") and request.order.leave.boot_id == report.boot_id:
            self._licence.granted_by_operator(request.order.leave.clock_ms / 1000)

    async def _open(self, request: pb.OpenRequest) -> None:
        start = check_start(request)
        if start.kind is StartKind.WRITABLE_PRIMARY or (request.terms.elected and self._node.report.keeps_terms):
            await self._bind(terms_in(request.terms))
        tries = OPEN_TRIES
        while True:
            try:
                return self._node.let_in(start)
            except VolumeTakenError as problem:
                raise Refusal(pb.OUTCOME_VOLUME_TAKEN, str(problem)) from None
            except (NobodyWaitsError, AnswerTooLateError) as problem:
                tries -= 1
                on_its_way = self._node.report.facts.process.state is ProcessState.WAITING
                if not (tries and on_its_way):
                    raise Refusal(pb.OUTCOME_NOBODY_WAITS, str(problem)) from None
            await asyncio.sleep(OPEN_PAUSE_S)

    async def _follow(self, request: pb.FollowRequest) -> None:
        primary = check_address(request.primary)
        is_demoted = has_clients_of_a_primary(self._node.report.facts)
        await self._command("REPLICAOF", primary.host, primary.port)
        if is_demoted:
            await self.clients.move()

    async def _promote(self, request: pb.PromoteRequest) -> None:
        await self._node.refresh()
        check_promotion(request, self._node.report.facts)
        terms = terms_in(request.terms)
        await self._bind(terms)
        self._running()
        # Together: it takes no write without the replicas that it needs, and waits for nobody to lift an old fence.
        await self._node.connection.call_each([fence_command(terms.least_replicas), ("REPLICAOF", "NO", "ONE")])

    async def _park(self, _request: pb.ParkRequest) -> None:
        await self._command("REPLICAOF", PARK_HOST, PARK_PORT)

    async def _kill(self, _request: pb.KillRequest) -> None:
        process = self._running()
        try:
            await self._node.connection.call("PING", timeout_s=KILL_AFTER_S)
        except ServerError as problem:
            if problem.health is not Health.HUNG:
                raise
            log.warning("the server hangs and is killed", reason=str(problem))
            self._node.end_server(process)
        else:
            raise Refusal(pb.OUTCOME_SERVER_REFUSED, "the server answers, and is not killed")

    async def _bind_running(self, request: pb.BindRequest) -> None:
        """One at the gate may be let in by a record that is older than these terms; a cluster node never is."""
        if not request.terms.elected:
            await self._node.refresh()
            self._running()
        await self._bind(terms_in(request.terms))

    async def _bind(self, terms: Terms) -> None:
        """An order is not a licence: it may be late, and another node be primary by now.

        Leave that comes with it counts from a report of ours, so it is worth nothing by then.
        """
        if terms.elected and not self._node.report.keeps_terms:
            raise Refusal(pb.OUTCOME_BAD_ORDER, "this agent was not told how to reach the other nodes of its cluster")
        if not await self._licence.accept(terms, LICENCE_WITHIN_S):
            epoch = self._node.report.facts.promise.epoch
            raise Refusal(pb.OUTCOME_NO_LICENCE, f"nobody grants epoch {epoch} to this node")

    async def _configure(self, request: pb.ConfigureRequest) -> Settings:
        try:
            return await bring_settings(self._node, self._running(), request.settings)
        except NoDefaultError as problem:
            raise Refusal(pb.OUTCOME_BAD_ORDER, str(problem)) from None

    async def _release(self, _request: pb.ReleaseRequest) -> None:
        self._running()
        if has_clients_of_a_primary(self._node.report.facts):
            await self.clients.move()

    async def _command(self, *words: str | int) -> Any:  # noqa: ANN401 - any reply
        self._running()
        return await self._node.connection.call(*words)

    def _running(self) -> ProcessId:
        """The process of the server that runs."""
        return check_running(self._node.report.facts)


def _outcome_of(error: ServerError) -> pb.Outcome:
    # One that loads or is busy refuses everything alike: that says nothing about the command.
    return pb.OUTCOME_SERVER_REFUSED if error.health is Health.REFUSES else pb.OUTCOME_NO_ANSWER


def make_grpc_server(service: AgentService, *, files: TlsFiles, operator: Identity, address: str) -> grpc.aio.Server:
    """A server, not started yet, at `address`; raises TlsFilesError or OSError."""
    server = grpc.aio.server(
        options=[
            ("grpc.so_reuseport", 0),
            ("grpc.max_receive_message_length", _MOST_MESSAGE_BYTES),
            ("grpc.max_concurrent_streams", 16),
        ]
    )
    server.add_generic_rpc_handlers((_handlers(service, operator),))
    try:
        server.add_secure_port(address, _credentials(files))
    except RuntimeError as error:
        raise OSError(f"{address} cannot be opened: {error}") from error
    return server


def _credentials(files: TlsFiles) -> grpc.ServerCredentials:
    known = read_pems(files)

    def newest() -> grpc.ServerCertificateConfiguration | None:
        """Asked at every handshake; None: as before. gRPC crashes if many at once are each given another one."""
        nonlocal known
        try:
            found = read_pems(files)
        except TlsFilesError as problem:
            log.warning("TLS files cannot be read", reason=str(problem))
            return None
        if found == known:
            return None
        known = found
        return _configuration(found)

    return grpc.dynamic_ssl_server_credentials(
        _configuration(known),
        newest,  # type: ignore[arg-type] # the stubs forget None
        require_client_authentication=True,
    )


def _configuration(pems: Pems) -> grpc.ServerCertificateConfiguration:
    return grpc.ssl_server_certificate_configuration([(pems.key, pems.certificate)], root_certificates=pems.roots)


def _handlers(service: AgentService, operator: Identity) -> "grpc.GenericRpcHandler[Any, Any]":
    def handler(name: str) -> "grpc.RpcMethodHandler[Any, Any]":
        method = _SERVICE.methods_by_name[name]

        async def serve(request: Any, context: "grpc.aio.ServicerContext[Any, Any]") -> Any:  # noqa: ANN401 - by the descriptor
            await _check_peer(context, operator)
            return await (service.report(request) if name == "Report" else service.obey(name, request))

        return grpc.unary_unary_rpc_method_handler(
            serve,
            request_deserializer=message_factory.GetMessageClass(method.input_type).FromString,
            response_serializer=message_factory.GetMessageClass(method.output_type).SerializeToString,
        )

    return grpc.method_handlers_generic_handler(
        _SERVICE.full_name, {name: handler(name) for name in _SERVICE.methods_by_name}
    )


async def _check_peer(context: "grpc.aio.ServicerContext[Any, Any]", operator: Identity) -> None:
    names = [name.decode() for name in context.auth_context().get("x509_subject_alternative_name", ())]
    uris = [name for name in names if "://" in name]
    if not has_identity(uris, operator):
        log.warning("caller refused", names=names)
        await context.abort(grpc.StatusCode.PERMISSION_DENIED, f"only {operator.uri} is served")
