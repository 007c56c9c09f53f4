"""Where the write Service leads to."""

from typing import Any

import pytest

from tests.support.render import LABELS, OWNER
from valkey_operator.core.pods import PodFacts
from valkey_operator.core.render.endpoints import write_endpoint


def a_pod(**facts: Any) -> PodFacts:
    return PodFacts(name="cache-1-0", uid="u1", **facts)


def test_it_is_the_services_and_ours() -> None:
    meta = write_endpoint(OWNER, LABELS, a_pod(), "10.0.0.7")["metadata"]
    assert meta["name"] == meta["labels"]["kubernetes.io/service-name"] == OWNER.name
    assert meta["labels"]["endpointslice.kubernetes.io/managed-by"] == "valkey-operator"


def test_it_leads_to_one_pod_whatever_its_probes_say() -> None:
    found = write_endpoint(OWNER, LABELS, a_pod(machine="m1", zone="z1"), "10.0.0.7")
    assert found["endpoints"] == [
        {
            "addresses": ["10.0.0.7"],
            "conditions": {"ready": True, "serving": True, "terminating": False},
            "targetRef": {"kind": "Pod", "namespace": OWNER.namespace, "name": "cache-1-0", "uid": "u1"},
            "nodeName": "m1",
            "zone": "z1",
        }
    ]


@pytest.mark.parametrize(("address", "family"), [("10.0.0.7", "IPv4"), ("fd00::7", "IPv6")])
def test_it_says_which_kind_of_address_that_is(address: str, family: str) -> None:
    assert write_endpoint(OWNER, LABELS, a_pod(), address)["addressType"] == family
