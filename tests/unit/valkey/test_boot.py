import pytest

from valkey_operator.valkey.boot import (
    Address,
    Announced,
    BusAddress,
    Credentials,
    Start,
    StartKind,
    password_hash,
    render_boot_conf,
    render_gate_answer,
    render_start_conf,
)

CREDENTIALS = Credentials(default_password="pass", agent_password="made anew")


def start_lines(start: Start, credentials: Credentials = CREDENTIALS) -> list[str]:
    return render_start_conf(start, credentials, port=6379, settings_file="/config/valkey.conf").splitlines()


def test_boot_conf_is_safe_by_itself_and_ends_at_the_gate() -> None:
    lines = render_boot_conf(gate="/gate", data="/data").splitlines()

    assert lines[:2] == ["port 0", "min-replicas-to-write 1000000"]
    assert lines[-1] == 'include "/gate/go.conf"'
    assert not any(line.startswith(("replicaof", "user")) for line in lines)


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (Start(kind=StartKind.WRITABLE_PRIMARY), "min-replicas-to-write 0"),
        (Start(kind=StartKind.WRITABLE_PRIMARY, min_replicas_to_write=2), "min-replicas-to-write 2"),
        (Start(kind=StartKind.FENCED_PRIMARY, min_replicas_to_write=2), "min-replicas-to-write 1000000"),
        (Start(kind=StartKind.REPLICA, primary=Address("10.0.0.1", 6379)), 'replicaof "10.0.0.1" 6379'),
        (Start(kind=StartKind.PARKED), "replicaof 192.0.2.1 1"),
    ],
    ids=lambda value: str(value.kind) if isinstance(value, Start) else None,
)
def test_each_kind_of_start_has_its_line_after_the_settings_of_the_user(start: Start, expected: str) -> None:
    lines = start_lines(start)

    assert lines[0] == 'include "/config/valkey.conf"'
    assert expected in lines
    assert sum(line.startswith("min-replicas-to-write") for line in lines) == 1
    assert any(line.startswith("replicaof") for line in lines) == (start.kind in {"replica", "parked"})


def test_the_default_password_is_there_as_hash_for_clients_and_as_text_only_for_following_a_primary() -> None:
    lines = start_lines(Start(kind=StartKind.FENCED_PRIMARY))

    assert f"user default on {password_hash('pass')} ~* &* +@all" in lines
    assert [line for line in lines if "pass" in line and "passw" not in line] == ['primaryauth "pass"']


def test_a_server_without_a_password_says_so_and_follows_without_one() -> None:
    lines = start_lines(Start(kind=StartKind.PARKED), Credentials(default_password=None, agent_password="x"))

    assert "user default on nopass ~* &* +@all" in lines
    assert not any("primaryauth" in line for line in lines)


def test_the_password_of_the_agent_is_never_written_out() -> None:
    assert not any("made anew" in line for line in start_lines(Start(kind=StartKind.PARKED)))


def test_a_cluster_node_starts_with_the_file_it_has_and_announces_what_it_was_told() -> None:
    announced = Announced(address=BusAddress("10.0.0.1", 6379), hostname="c-0.shop.svc")
    lines = start_lines(Start(kind=StartKind.CLUSTER_NODE, announced=announced, min_replicas_to_write=1))

    assert [line for line in lines if line.startswith("cluster-")] == [
        "cluster-enabled yes",
        "cluster-config-file nodes.conf",
        'cluster-announce-ip "10.0.0.1"',
        "cluster-announce-port 6379",
        "cluster-announce-bus-port 16379",
        'cluster-announce-hostname "c-0.shop.svc"',
    ]
    assert "min-replicas-to-write 1" in lines
    assert not any(line.startswith("replicaof") for line in lines)


@pytest.mark.parametrize("kind", [StartKind.CLUSTER_NODE, StartKind.PARKED])
def test_only_a_cluster_node_announces_itself_and_it_must(kind: StartKind) -> None:
    announced = None if kind is StartKind.CLUSTER_NODE else Announced(address=BusAddress("h", 1), hostname="c")
    with pytest.raises(ValueError, match="only a cluster node"):
        Start(kind=kind, announced=announced)


@pytest.mark.parametrize(("kind", "primary"), [(StartKind.REPLICA, None), (StartKind.FENCED_PRIMARY, Address("h", 1))])
def test_only_a_replica_has_a_primary_and_it_needs_one(kind: StartKind, primary: Address | None) -> None:
    with pytest.raises(ValueError, match="only a replica"):
        Start(kind=kind, primary=primary)


def test_the_answer_is_one_short_line_so_that_it_is_written_whole_or_not_at_all() -> None:
    answer = render_gate_answer("/gate/start.conf")

    assert answer == b'include "/gate/start.conf"\n'
    assert len(answer) < 512


def test_quotes_backslashes_newlines_and_other_scripts_are_escaped() -> None:
    lines = start_lines(Start(kind=StartKind.PARKED), Credentials(default_password='a "b"\\\n#é', agent_password="x"))

    assert 'primaryauth "a \\"b\\"\\\\\\x0a#\\xc3\\xa9"' in lines
