"""What is wrong with a cluster at rest is found in what its nodes say of it."""

from faults.agreement import disagreement

IDS = {name: f"{number:040x}" for number, name in enumerate(("cart-0-0", "cart-0-1", "cart-1-0", "cart-1-1"), start=1)}
PRIMARIES = {0: "cart-0-0", 1: "cart-1-0"}
SLOTS = {"cart-0-0": "0-8191", "cart-1-0": "8192-16383"}


def line(name: str, myself: str, *, slots: dict[str, str], epoch: int, flags: str = "") -> str:
    primary = next((each for each in slots if each.split("-")[1] == name.split("-")[1]), "")
    is_primary = name in slots
    role = "master" if is_primary else "slave"
    words = [role, *(["myself"] if name == myself else []), *([flags] if flags else [])]
    place = f"10.0.0.{int(IDS[name], 16)}:6379@16379,{name}.shop.svc"
    followed = "-" if is_primary else IDS[primary]
    return f"{IDS[name]} {place} {','.join(words)} {followed} 0 0 {epoch} connected {slots.get(name, '')}".strip()


def view(myself: str, *, slots: dict[str, str] | None = None, epochs: tuple[int, int] = (1, 2), flags: str = "") -> str:
    owned = slots or SLOTS
    lines = []
    for name in IDS:
        epoch = epochs[int(name.split("-")[1])]
        flagged = flags if name == "cart-1-1" and name != myself else ""
        lines.append(line(name, myself, slots=owned, epoch=epoch, flags=flagged))
    return "\n".join(lines)


def healthy() -> dict[str, str]:
    return {name: view(name) for name in IDS}


def test_a_cluster_that_is_well_has_no_disagreement() -> None:
    assert disagreement(healthy(), PRIMARIES) == ""


def test_a_node_that_sees_another_owner_is_found() -> None:
    other = view("cart-1-1", slots={"cart-0-0": "0-8190", "cart-1-0": "8191-16383"})
    assert "cart-1-1 sees" in disagreement({**healthy(), "cart-1-1": other}, PRIMARIES)


def test_slots_without_an_owner_are_found_though_all_agree() -> None:
    fewer = {"cart-0-0": "0-8190", "cart-1-0": "8192-16383"}
    found = disagreement({name: view(name, slots=fewer) for name in IDS}, PRIMARIES)
    assert found == "cart-0-0 sees owners of 16383 slots, and there are 16384"


def test_an_open_slot_is_found() -> None:
    text = view("cart-0-0").replace("connected 0-8191", f"connected 0-8191 [7->-{IDS['cart-1-0']}]")
    assert disagreement({**healthy(), "cart-0-0": text}, PRIMARIES) == "cart-0-0 has the open slots 7"


def test_alike_epochs_are_found() -> None:
    said = {name: view(name, epochs=(3, 3)) for name in IDS}
    assert disagreement(said, PRIMARIES) == "cart-0-0 and cart-1-0 have the same epoch 3"


def test_a_node_that_is_not_heard_is_found() -> None:
    said = {**healthy(), "cart-0-0": view("cart-0-0", flags="fail?")}
    assert disagreement(said, PRIMARIES) == "cart-0-0 does not hear cart-1-1.shop.svc"


def test_a_stranger_is_found() -> None:
    said = {name: text for name, text in healthy().items() if name != "cart-1-1"}
    assert disagreement(said, PRIMARIES) == "cart-0-0 knows of 4 nodes, and there are 3"


def test_a_status_that_names_others_than_the_servers_is_found() -> None:
    assert "own slots" in disagreement(healthy(), {0: "cart-0-1", 1: "cart-1-0"})
    assert "own slots" in disagreement(healthy(), {0: "cart-0-0"})


def test_what_is_no_answer_is_told() -> None:
    assert "LOADING" in disagreement({**healthy(), "cart-0-1": "LOADING"}, PRIMARIES)
