"""Which requests count as more than a rest allows."""

from bench.at_rest import beyond_renewals, sent_between

NAME = "valkey_operator_api_requests_total"


def request(method: str, resource: str, code: int = 200) -> str:
    return f'{{code="{code}",method="{method}",resource="{resource}"}}'


def test_only_what_was_sent_meanwhile_is_counted() -> None:
    before = {NAME + request("GET", "pods"): 3.0, NAME + request("PATCH", "valkeynodes"): 2.0}
    after = {NAME + request("GET", "pods"): 3.0, NAME + request("PATCH", "valkeynodes"): 4.0, "other": 1.0}
    after |= {NAME + request("PUT", "leases"): 9.0}
    assert sent_between(before, after) == {request("PATCH", "valkeynodes"): 2.0, request("PUT", "leases"): 9.0}


def test_the_lease_and_watches_are_rest_and_everything_else_is_not() -> None:
    rest = {request("PUT", "leases"): 9.0, request("GET", "leases", 0): 1.0, request("WATCH", "pods"): 2.0}
    more = {request("PATCH", "valkeyclusters"): 1.0, request("GET", "pods"): 1.0, request("PATCH", "leases"): 1.0}
    assert beyond_renewals(rest | more) == more
