"""What the server is configured with: persistence, replication, `config` and `configFrom`, each as it arrives."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.manifests import Manifest
from tests.e2e.valkeys import Shop, open_shop, valkey

OPEN: Manifest = {"auth": {"disabled": True}}
SAVE = [{"seconds": 120, "changes": 5}, {"seconds": 30, "changes": 700}]
AOF = {"enabled": True, "fsync": "always", "rewritePercentage": 40, "rewriteMinSize": "3mb"}
ODD = 'a "quoted" # word, \\ and ünïcode'
BUFFERS = ["normal 1mb 512kb 60", "pubsub 16mb 4mb 30"]

PERSISTENCE: dict[str, tuple[Manifest, Manifest]] = {
    "rdb": (
        {"rdb": {"savePolicy": SAVE, "compression": False}},
        {"save": "120 5 30 700", "rdbcompression": "no", "appendonly": "no"},
    ),
    "aof": (
        {"rdb": {"enabled": False}, "aof": AOF},
        {
            "save": "",
            "appendonly": "yes",
            "appendfsync": "always",
            "auto-aof-rewrite-percentage": "40",
            "auto-aof-rewrite-min-size": str(3 << 20),
        },
    ),
    "both": (
        {"aof": {"enabled": True}},
        {"save": "900 1 300 10 60 10000", "appendonly": "yes", "appendfsync": "everysec"},
    ),
    "none": ({"enabled": False}, {"save": "", "appendonly": "no"}),
}


def config_map(name: str, **data: str) -> Manifest:
    data = {key.replace("_", "-"): value for key, value in data.items()}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def tuned() -> Manifest:
    """A Valkey with a directive from every layer."""
    return valkey(
        "tuned",
        replicas=2,
        replication={
            "disklessSync": False,
            "minReplicasToWrite": 1,
            "minReplicasMaxLag": 7,
            "backlogSize": "2mb",
        },
        configFrom=[{"name": "first"}, {"name": "second"}],
        config={
            "latency-monitor-threshold": 7,
            "repl-diskless-sync-delay": 3,
            "lazyfree-lazy-expire": True,
            "client-output-buffer-limit": BUFFERS,
            "syslog-ident": ODD,
        },
        **OPEN,
    )


@pytest.fixture(scope="module")
def shelf(cluster: Cluster) -> Iterator[Shop]:
    """Valkeys that the tests of this module only look at: one for each sort of persistence, and `tuned`."""
    with cluster.namespace("config") as namespace:
        shop = open_shop(cluster, namespace)
        shop.apply(
            config_map("first", hz="11", slowlog_max_len="100", latency_monitor_threshold="5", appendfsync="no"),
            config_map("second", slowlog_max_len="200", latency_monitor_threshold="6"),
            *(valkey(name, persistence=given, **OPEN) for name, (given, _) in PERSISTENCE.items()),
            tuned(),
        )
        for name in (*PERSISTENCE, "tuned"):
            shop.wait_for_state("Ready", name)
        yield shop


@pytest.fixture
def cart(cluster: Cluster, namespace: str) -> Shop:
    """A Valkey called cart, for a test to change."""
    shop = open_shop(cluster, namespace)
    shop.apply(valkey(**OPEN))
    shop.wait_for_state("Ready")
    return shop


def told(shop: Shop, node: str, *names: str) -> dict[str, str]:
    return shop.directives(node, *names, password="")


def wait_for_settings(shop: Shop, line: str) -> None:
    """Wait until what the server will read at its next start holds this line."""

    def holds() -> bool | None:
        return True if line in shop.get("configmap", "cart-0-config")["data"]["valkey.conf"].splitlines() else None

    shop.cluster.wait_for(f"{line!r} in the settings of cart-0", holds, shop.namespace)


@pytest.mark.parametrize("name", PERSISTENCE)
def test_every_field_of_persistence_arrives_at_the_server(shelf: Shop, name: str) -> None:
    _, expected = PERSISTENCE[name]
    assert told(shelf, f"{name}-0", *expected) == expected
    assert shelf.exists("pvc", f"{name}-0-data") == (name != "none")


def test_every_field_of_replication_arrives_at_primary_and_replica(shelf: Shop) -> None:
    for node in ("tuned-0", "tuned-1"):
        assert told(shelf, node, "repl-diskless-sync", "min-replicas-max-lag", "repl-backlog-size") == {
            "repl-diskless-sync": "no",
            "min-replicas-max-lag": "7",
            "repl-backlog-size": str(2 << 20),
        }
    assert told(shelf, "tuned-0", "min-replicas-to-write") == {"min-replicas-to-write": "1"}


def test_a_directive_is_the_operators_then_a_fields_then_a_config_maps_in_order_then_configs(shelf: Shop) -> None:
    expected = {
        "repl-diskless-sync-delay": "3",  # over the operator's 0
        "appendfsync": "no",  # over the field's everysec
        "hz": "11",  # of the first ConfigMap alone
        "slowlog-max-len": "200",  # of the second, over the first
        "latency-monitor-threshold": "7",  # of config, over both
    }
    assert told(shelf, "tuned-0", *expected) == expected


def test_numbers_booleans_and_lists_arrive(shelf: Shop) -> None:
    assert told(shelf, "tuned-0", "lazyfree-lazy-expire") == {"lazyfree-lazy-expire": "yes"}
    limits = told(shelf, "tuned-0", "client-output-buffer-limit")["client-output-buffer-limit"]
    assert limits.startswith(f"normal {1 << 20} {512 << 10} 60 ")
    assert limits.endswith(f"pubsub {16 << 20} {4 << 20} 30")


def test_a_value_with_quotes_hash_blanks_and_unicode_arrives_exactly(shelf: Shop) -> None:
    assert told(shelf, "tuned-0", "syslog-ident") == {"syslog-ident": ODD}


@pytest.mark.parametrize(
    ("key", "instead"),
    [("requirepass", "auth.password"), ("loadmodule", "modules"), ("include", "configFrom"), ("tls-port", "tls")],
)
def test_an_owned_directive_is_refused_with_the_field_to_use(shelf: Shop, key: str, instead: str) -> None:
    patch = f'--patch={{"spec":{{"config":{{"{key}":"x"}}}}}}'
    refused = shelf.cluster.try_kubectl(
        "patch", "valkey", "rdb", f"--namespace={shelf.namespace}", "--type=merge", patch
    )
    assert refused.returncode != 0
    assert f"spec.config.{key} is owned" in refused.stderr
    assert f"use {instead}" in refused.stderr


def test_an_unknown_directive_is_named_while_the_server_runs_and_correcting_it_heals(cart: Shop) -> None:
    before = cart.uids()
    cart.patch("cart", {"config": {"maxmemmory": "1gb", "hz": 12}})

    condition = cart.wait_for_condition("SpecValid", "False")
    assert "spec.config.maxmemmory is '1gb'" in condition["message"]
    assert "correct its name, or remove it" in condition["message"]
    assert cart.wait_for_state("Degraded")["reason"] == "InvalidSpec"
    assert cart.say("cart-0", "SET", "still", "here", password="") == "OK"
    assert cart.status()["primary"] == "cart-0"

    cart.patch("cart", {"config": {"maxmemmory": None}})
    cart.wait_for_state("Ready")
    cart.wait_for_condition("SpecValid", "True")
    wait_for_settings(cart, "hz 12")
    assert cart.uids() == before


def test_a_value_that_the_server_refuses_is_told_in_its_own_words_and_correcting_it_heals(shop: Shop) -> None:
    shop.apply(valkey(config={"maxmemory": "lots"}, **OPEN))

    def told_why() -> str | None:
        message = str(shop.status().get("message", ""))
        return message if "maxmemory" in message else None

    message = shop.cluster.wait_for("the refused value to be told", told_why, shop.namespace, deadline_s=90)
    assert "container valkey cannot start" in message
    assert "argument must be a memory value" in message

    shop.patch("cart", {"config": {"maxmemory": "64mb"}})
    shop.wait_for_state("Ready", deadline_s=180)
    assert told(shop, "cart-0", "maxmemory") == {"maxmemory": str(64 << 20)}


def test_a_config_map_is_waited_for_and_each_change_of_it_is_noticed(cart: Shop) -> None:
    before = cart.uids()
    cart.patch("cart", {"configFrom": [{"name": "tuning"}]})
    condition = cart.wait_for_condition("SpecValid", "False")
    assert 'spec.configFrom is "tuning": there is no such ConfigMap' in condition["message"]

    cart.apply(config_map("tuning", slowlog_max_len="300"))
    cart.wait_for_condition("SpecValid", "True")
    wait_for_settings(cart, "slowlog-max-len 300")

    cart.apply(config_map("tuning", slowlog_max_len="301"))
    wait_for_settings(cart, "slowlog-max-len 301")
    assert told(cart, "cart-0", "slowlog-max-len") == {"slowlog-max-len": "301"}
    assert cart.uids() == before
    assert cart.wait_for_state("Ready")["readyReplicas"] == 1

    cart.apply(config_map("tuning", slowlog_max_len="302", databases="20"))

    def restarted() -> bool | None:
        uids = cart.uids()
        return True if uids and uids != before and cart.status().get("state") == "Ready" else None

    cart.cluster.wait_for("a restart, which `databases` needs", restarted, cart.namespace, deadline_s=120)
    expected = {"databases": "20", "slowlog-max-len": "302"}
    assert told(cart, "cart-0", *expected) == expected

    cart.cluster.kubectl("delete", "configmap", "tuning", f"--namespace={cart.namespace}")
    cart.wait_for_condition("SpecValid", "False")
    assert told(cart, "cart-0", *expected) == expected


def test_a_secret_that_is_missing_is_waited_for(shop: Shop) -> None:
    shop.apply(valkey(auth={"secretRef": {"name": "login", "key": "word"}}))
    condition = shop.wait_for_condition("SpecValid", "False")
    assert 'spec.auth.secretRef.name is "login": there is no such Secret' in condition["message"]
    assert shop.wait_for_state("Failed")["reason"] == "InvalidSpec"

    secret: dict[str, Any] = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}}
    shop.apply({**secret, "stringData": {"other": "x"}})
    shop.cluster.wait_for(
        "the missing key to be named",
        lambda: True if "has no such key" in shop.condition("SpecValid")["message"] else None,
        shop.namespace,
    )
    shop.apply({**secret, "stringData": {"word": "open sesame"}})
    assert shop.wait_for_state("Ready")["secretName"] == "login"
    assert shop.say("cart-0", "PING", password="open sesame") == "PONG"
