"""Every supported Valkey starts, replicates, and says about itself what our parser understands."""

import time

import pytest

from tests.valkey.servers import Server, running
from valkey_operator.valkey.info import (
    LinkStatus,
    ReplicationInfo,
    Role,
    parse_replication,
    parse_sections,
    parse_server,
)

pytestmark = pytest.mark.every_version


def replication_of(server: Server) -> ReplicationInfo:
    return parse_replication(parse_sections(server.info()))


def wait_for_link(replica: Server) -> ReplicationInfo:
    deadline = time.monotonic() + 30
    while True:
        seen = replication_of(replica)
        if seen.primary_link and seen.primary_link.status is LinkStatus.UP:
            return seen
        assert time.monotonic() < deadline, f"the link never came up: {seen}\n{replica.log()}"
        time.sleep(0.02)


def test_a_server_of_each_version_is_of_that_version(version: str) -> None:
    with running(version) as server:
        seen = parse_server(parse_sections(server.info()))

    assert f"{seen.version.major}.{seen.version.minor}" == version
    assert seen.process_id == server.process.pid


def test_each_version_has_tls_and_the_allocator_of_the_official_image(version: str) -> None:
    with running(version) as server, server.client() as client:
        assert "tls-port" in client.config_get("tls-port")
        assert str(client.info("memory")["mem_allocator"]).startswith("jemalloc")


def test_a_replica_follows_its_primary_and_both_say_so(version: str) -> None:
    with running(version) as primary, running(version, replicaof=f"127.0.0.1 {primary.port}") as replica:
        follower = wait_for_link(replica)
        with primary.client() as client:
            client.set("key", "value")
            assert client.wait(1, 10_000) == 1
        with replica.client() as client:
            assert client.get("key") == "value"
        leader = replication_of(primary)

    assert (leader.role, follower.role) == (Role.PRIMARY, Role.REPLICA)
    assert leader.replication_id == follower.replication_id
    assert [each.port for each in leader.replicas] == [replica.port]
    assert follower.primary_link is not None
    assert follower.primary_link.port == primary.port


def test_a_replica_whose_primary_died_says_that_its_link_is_down(version: str) -> None:
    with running(version) as primary, running(version, replicaof=f"127.0.0.1 {primary.port}") as replica:
        wait_for_link(replica)
        primary.process.kill()
        primary.process.wait(timeout=10)
        deadline = time.monotonic() + 30
        while (link := replication_of(replica).primary_link) and link.status is LinkStatus.UP:
            assert time.monotonic() < deadline, replica.log()
            time.sleep(0.02)

    assert link is not None
    assert link.status is LinkStatus.DOWN
    assert link.down_for_s is not None


def test_a_promoted_replica_remembers_the_history_it_came_from(version: str) -> None:
    with running(version) as primary, running(version, replicaof=f"127.0.0.1 {primary.port}") as replica:
        before = wait_for_link(replica)
        with replica.client() as client:
            client.replicaof("NO", "ONE")
        after = replication_of(replica)

    assert after.role is Role.PRIMARY
    assert after.former_replication_id == before.replication_id
    assert after.former_id_valid_below is not None
