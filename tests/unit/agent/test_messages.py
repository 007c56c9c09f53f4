from tests.support import build
from valkey_operator.agent.messages import report_message
from valkey_operator.agent.promise import Promise
from valkey_operator.agent.report import Facts, Persisted, Report
from valkey_operator.agent.server import ServerView
from valkey_operator.agent.watch import ProcessId, Watched
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.valkey.boot import FENCED
from valkey_operator.valkey.info import LinkStatus
from valkey_operator.valkey.states import DiskError, Health, ProcessState


def message_of(facts: Facts) -> pb.NodeReport:
    return report_message(Report(pod_uid="uid", boot_id="boot", agent_version="1.0", seq=3, facts=facts), 12.3456)


def test_what_the_server_did_not_tell_is_not_set() -> None:
    message = message_of(Facts(server=ServerView(health=Health.HUNG)))
    assert message.health == pb.HEALTH_HUNG
    assert not any(message.HasField(name) for name in ("server", "replication", "fenced", "disk_error"))
    assert not message.persisted.HasField("epoch")


def test_a_replica_tells_the_offset_of_its_own_data() -> None:
    view = ServerView(
        health=Health.ANSWERS,
        server=build.server(),
        replication=build.replica(applied_offset=5, received_offset=9, status=LinkStatus.DOWN),
        least_replicas=0,
    )
    message = message_of(Facts(server=view))
    assert (message.replication.offset, message.replication.link.received_offset) == (5, 9)
    assert message.replication.role == pb.ROLE_REPLICA
    assert not message.replication.link.up
    assert message.HasField("fenced")
    assert not message.fenced


def test_every_state_health_and_disk_error_has_its_word() -> None:
    for state in ProcessState:
        facts = Facts(process=Watched(state, ProcessId(1, 1), 2))
        assert pb.ProcessState.Name(message_of(facts).process) == f"PROCESS_STATE_{state.name}"
    for health in Health:
        facts = Facts(server=ServerView(health=health))
        assert pb.Health.Name(message_of(facts).health) == f"HEALTH_{health.name}"
    for error in DiskError:
        facts = Facts(server=ServerView(health=Health.ANSWERS, disk_error=error))
        assert pb.DiskError.Name(message_of(facts).disk_error) == f"DISK_ERROR_{error.name}"


def test_the_whole_report_survives_the_wire() -> None:
    view = ServerView(
        health=Health.ANSWERS,
        server=build.server(),
        replication=build.primary(replicas=(build.connected_replica(),), former_replication_id="c" * 40),
        least_replicas=FENCED,
    )
    persisted = Persisted(rdb=True, aof=True, epoch=7, was_primary=True, offset=9)
    facts = Facts(
        process=Watched(ProcessState.RUNNING, ProcessId(7, 1), 1),
        server=view,
        persisted=persisted,
        promise=Promise(2, 5),
        leaving=True,
    )
    message = message_of(facts)
    assert pb.NodeReport.FromString(message.SerializeToString()) == message
    assert message.server.version == "9.1.2"
    assert (message.promised_term, message.promised_epoch, message.seq) == (2, 5, 3)
