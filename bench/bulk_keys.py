"""`python -m bench.bulk_keys fill CLUSTER COUNT`: so many keys of 1 KiB all over the slots. Run inside of the network.

`fill` writes them, `check` reads every one of them again. Says one JSON object in the end. Slots must rest meanwhile:
each server is asked for what it owned at the beginning.
"""

import argparse
import binascii
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import valkey

from bench.cluster_servers import PORT, Primaries, owned_in
from valkey_operator.valkey.slots import SLOT_COUNT, Slots

VALUE_BYTES = 1024
PORTION = 500


def key_of(number: int) -> str:
    return f"bulk:{number}"


def value_of(number: int) -> str:
    """Its own for each key: a value that came under another key would be noticed."""
    word = f"{number}:"
    return (word * (VALUE_BYTES // len(word) + 1))[:VALUE_BYTES]


def slot_of(key: str) -> int:
    """Of a key without braces: servers use this very checksum."""
    return binascii.crc_hqx(key.encode(), 0) % SLOT_COUNT


def bytes_in(slots: Slots, count: int) -> int:
    """Of keys and values in these slots, where there are so many keys in all."""
    chosen = set(slots)
    keys = (key_of(number) for number in range(count))
    return sum(len(key) + VALUE_BYTES for key in keys if slot_of(key) in chosen)


def portions(primaries: Primaries, count: int) -> Iterator[tuple[valkey.Valkey, list[int]]]:
    """All numbers, some at a time, with the server whose keys they are."""
    owners = {slot: owner for owner, slots in owned_in(primaries.look()).items() for slot in slots}
    if len(owners) < SLOT_COUNT:
        raise LookupError(f"only {len(owners)} of {SLOT_COUNT} slots have an owner")
    collected: dict[str, list[int]] = {owner: [] for owner in set(owners.values())}
    for number in range(count):
        owner = owners[slot_of(key_of(number))]
        collected[owner].append(number)
        if len(collected[owner]) == PORTION:
            yield primaries[owner], collected[owner]
            collected[owner] = []
    for owner, numbers in collected.items():
        if numbers:
            yield primaries[owner], numbers


def fill(primaries: Primaries, count: int) -> dict[str, Any]:
    for server, numbers in portions(primaries, count):
        pipe = server.pipeline(transaction=False)
        for number in numbers:
            pipe.set(key_of(number), value_of(number))
        pipe.execute()  # type: ignore[no-untyped-call]
    return {"keys": sum(size(server) for server in primaries)}


def check(primaries: Primaries, count: int) -> dict[str, Any]:
    """How many are lost, how many have another value; `keys` counts those of all writers, too."""
    lost = wrong = 0
    for server, numbers in portions(primaries, count):
        found = values(server, numbers)
        lost += found.count(None)
        wrong += sum(value not in {None, value_of(number)} for number, value in zip(numbers, found, strict=True))
    return {"keys": sum(size(server) for server in primaries), "lost": lost, "wrong": wrong}


def values(server: valkey.Valkey, numbers: Sequence[int]) -> list[str | None]:
    pipe = server.pipeline(transaction=False)
    for number in numbers:
        pipe.get(key_of(number))
    return list(pipe.execute())  # type: ignore[no-untyped-call]


def size(server: valkey.Valkey) -> int:
    return int(server.dbsize())  # type: ignore[arg-type]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("fill", "check"))
    parser.add_argument("cluster", help="its Service")
    parser.add_argument("count", type=int)
    parser.add_argument("--port", type=int, default=PORT)
    args = parser.parse_args()
    work = {"fill": fill, "check": check}[args.what]
    sys.stdout.write(json.dumps(work(Primaries(args.cluster, args.port), args.count)) + "\n")


if __name__ == "__main__":
    main()
