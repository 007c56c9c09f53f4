"""What is kept of objects of others: their versions, and who refers to them."""

from tests.sim import virtual_time
from tests.support.fake_transport import FakeTransport
from valkey_operator.api.auth import Auth
from valkey_operator.api.references import NameRef, SecretKeyRef
from valkey_operator.api.valkey import ValkeySpec
from valkey_operator.controllers.kinds import CONFIG_MAPS, SECRETS
from valkey_operator.controllers.references import References, Referrers
from valkey_operator.core.defaults import effective_valkey
from valkey_operator.core.effective import EffectiveValkey
from valkey_operator.kube.client import KubeClient
from valkey_operator.kube.errors import NotFoundError
from valkey_operator.kube.objects import Key, Query
from valkey_operator.kube.store import Change
from valkey_operator.kube.versions import Versioned, VersionMeta, Versions

CART = Key("shop", "cart")


def seen(name: str, version: int) -> Versioned:
    return Versioned(VersionMeta(name, "shop", str(version)))


def spec(*maps: str, secret: str | None = None) -> EffectiveValkey:
    auth = Auth(secret_ref=SecretKeyRef(name=secret)) if secret else None
    return effective_valkey(ValkeySpec(config_from=[NameRef(name=each) for each in maps], auth=auth))


def told(versions: Versions) -> list[tuple[str, int | None, int | None]]:
    heard: list[tuple[str, int | None, int | None]] = []
    versions.subscribe(lambda change: heard.append((change.key.name, change.old, change.new)))
    return heard


def test_changes_are_told_and_what_is_there_at_first_is_not() -> None:
    async def check() -> None:
        versions = Versions()
        heard = told(versions)
        versions.replace_all([seen("a", 3)], "5")
        versions.put(seen("a", 6))
        versions.put(seen("b", 7))
        versions.remove(seen("a", 8))
        assert heard == [("a", 3, 6), ("b", None, 7), ("a", 6, None)]

    virtual_time.run(check(), seed=1)


def test_what_changed_in_a_gap_is_told_by_the_next_list() -> None:
    async def check() -> None:
        versions = Versions()
        versions.replace_all([seen("a", 3), seen("b", 4), seen("c", 5)], "5")
        heard = told(versions)
        versions.replace_all([seen("b", 4), seen("c", 9), seen("d", 8)], "9")
        assert heard == [("a", 3, None), ("c", 5, 9), ("d", None, 8)]

    virtual_time.run(check(), seed=1)


def test_only_metadata_are_asked_for() -> None:
    async def check() -> list[str]:
        page = b'{"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a","annotations":{"x":"y"}}}]}'
        transport = FakeTransport([page])
        query = Query(CONFIG_MAPS.resource, field_selector="metadata.name!=x", metadata_only=True)
        found = await KubeClient(transport).list_page(query, Versioned)
        assert found.items == (Versioned(VersionMeta("a")),)
        call = transport.calls[0][1]
        assert call.params["fieldSelector"] == "metadata.name!=x"
        return call.accept.split(";")

    words = virtual_time.run(check(), seed=1)
    assert words == ["application/json", "as=PartialObjectMetadataList", "g=meta.k8s.io", "v=v1"]


def test_who_refers_to_an_object_is_woken_until_it_does_not_any_more() -> None:
    referrers = Referrers()
    wake = referrers.keys(CONFIG_MAPS.resource)
    change = Change(Key("shop", "tuning"), 1, 2)
    client = KubeClient(FakeTransport([b'{"metadata":{"name":"tuning","resourceVersion":"2"},"data":{}}'] * 2))

    async def check() -> None:
        references = References(client, referrers, {CONFIG_MAPS.resource: Versions(), SECRETS.resource: Versions()})
        await references.read(CART, spec("tuning"))
        await references.read(Key("shop", "other"), spec())
        assert wake(change) == {CART}
        assert wake(Change(Key("elsewhere", "tuning"), 1, 2)) == frozenset()
        await references.read(CART, spec())
        assert wake(change) == frozenset()
        await references.read(CART, spec("tuning"))
        references.forget(CART)
        assert wake(change) == frozenset()

    virtual_time.run(check(), seed=1)


def test_an_object_is_read_again_only_in_another_version() -> None:
    body = b'{"metadata":{"name":"tuning","namespace":"shop","resourceVersion":"%d"},"data":{"maxclients":"%d"}}'
    transport = FakeTransport([body % (2, 20), body % (3, 30)])

    async def check() -> None:
        maps, secrets = Versions(), Versions()
        maps.replace_all([seen("tuning", 2)], "2")
        references = References(
            KubeClient(transport), Referrers(), {CONFIG_MAPS.resource: maps, SECRETS.resource: secrets}
        )
        for _ in range(3):
            found, problems = await references.read(CART, spec("tuning"))
            assert (found, problems) == ({"tuning": {"maxclients": "20"}}, [])
        maps.put(seen("tuning", 3))
        for _ in range(2):
            found, _ = await references.read(CART, spec("tuning"))
            assert found == {"tuning": {"maxclients": "30"}}

    virtual_time.run(check(), seed=1)
    assert len(transport.calls) == 2


def test_of_a_secret_nothing_stays_but_which_keys_have_a_value() -> None:
    body = b'{"metadata":{"name":"login","namespace":"shop","resourceVersion":"2"},"data":{"password":"c2VjcmV0"}}'
    transport = FakeTransport([body, NotFoundError("gone")])

    async def check() -> None:
        maps, secrets = Versions(), Versions()
        secrets.replace_all([seen("login", 2)], "2")
        references = References(
            KubeClient(transport), Referrers(), {CONFIG_MAPS.resource: maps, SECRETS.resource: secrets}
        )
        for _ in range(2):
            assert await references.read(CART, spec(secret="login")) == ({}, [])
        assert "c2VjcmV0" not in str(references.__dict__)
        secrets.remove(seen("login", 3))
        _, [problem] = await references.read(CART, spec(secret="login"))
        assert "no such Secret" in problem.remedy

    virtual_time.run(check(), seed=1)
