"""The examples run as they stand, all at once, under the restricted Pod Security profile."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.valkeys import Shop, open_shop
from tests.support.documents import VALKEY_EXAMPLES

NAMES = [file.stem.removeprefix("valkey-") for file in VALKEY_EXAMPLES]
READY_WITHIN_S = 300


@pytest.fixture(scope="module")
def examples(cluster: Cluster) -> Iterator[Shop]:
    """A namespace with all examples applied."""
    with cluster.namespace("examples") as namespace:
        shop = open_shop(cluster, namespace)
        for file in VALKEY_EXAMPLES:
            cluster.kubectl("apply", "--server-side", f"--namespace={namespace}", f"--filename={file}")
        yield shop


def login(shop: Shop, name: str) -> str:
    """The password that a client of this Valkey would use, found as the status tells."""
    return shop.password(shop.status(name)["secretName"])


@pytest.mark.parametrize("name", NAMES)
def test_it_becomes_ready_and_takes_a_write_through_its_service(examples: Shop, name: str) -> None:
    status = examples.wait_for_state("Ready", name, deadline_s=READY_WITHIN_S)
    assert status["readyReplicas"] == status["totalReplicas"]
    examples.cluster.wait_for_answer(
        examples.namespace, "client", "valkey-cli", "-h", name, "-a", login(examples, name), "--no-auth-warning",
        "SET", "greeting", "hello", expected="OK",
    )  # fmt: skip
    assert examples.call(name, "GET", "greeting", password=login(examples, name)) == "hello"


def test_no_manifest_makes_the_api_server_warn(examples: Shop) -> None:
    for file in VALKEY_EXAMPLES:
        place = (f"--namespace={examples.namespace}", "--dry-run=server", f"--filename={file}")
        assert examples.cluster.try_kubectl("apply", "--server-side", *place).stderr == ""


def test_the_config_map_is_below_config_and_above_what_is_built_in(examples: Shop) -> None:
    examples.wait_for_state("Ready", "config", deadline_s=READY_WITHIN_S)
    examples.wait_for_service("config", login(examples, "config"))

    def value(directive: str) -> str:
        return examples.call("config", "CONFIG", "GET", directive, password=login(examples, "config")).splitlines()[-1]

    assert value("maxmemory-policy") == "allkeys-lfu"
    assert value("slowlog-log-slower-than") == "5000"
    assert "pubsub 16777216 4194304 60" in value("client-output-buffer-limit")


def test_the_password_is_the_one_in_the_users_secret(examples: Shop) -> None:
    status = examples.wait_for_state("Ready", "own-password", deadline_s=READY_WITHIN_S)
    assert status["secretName"] == "own-password-login"
    assert not examples.exists("secret", "own-password-auth")


def test_defaults_give_the_size_and_the_fate_of_volumes(examples: Shop) -> None:
    examples.wait_for_state("Ready", "defaults", deadline_s=READY_WITHIN_S)
    claim: Any = examples.get("pvc", "defaults-0-data")
    assert claim["spec"]["resources"]["requests"]["storage"] == "256Mi"
    assert [owner["kind"] for owner in claim["metadata"]["ownerReferences"]] == ["Valkey"]
    assert "ownerReferences" not in examples.get("pvc", "production-0-data")["metadata"]


def test_the_cache_has_no_volume(examples: Shop) -> None:
    examples.wait_for_state("Ready", "cache", deadline_s=READY_WITHIN_S)
    assert not examples.exists("pvc", "cache-0-data")


def test_metrics_are_where_the_status_says(examples: Shop) -> None:
    status = examples.wait_for_state("Ready", "production", deadline_s=READY_WITHIN_S)
    assert status["exporter"]["metricsEndpoint"] == (f"http://production-metrics.{examples.namespace}.svc:9121/metrics")
    names = {each["name"] for each in examples.pod_of("production-0")["status"]["containerStatuses"]}
    assert names == {"valkey", "exporter"}
