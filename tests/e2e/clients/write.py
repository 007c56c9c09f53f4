"""`python -m tests.e2e.clients.write LIBRARY HOST [PREFIX]`: write until standard input ends, then read it all again.

The password is in $PASSWORD. Keys begin with the prefix, so that several writers keep out of each other's way. Says one
JSON object in the end: how many writes were acknowledged, which of them are lost, and what the library did not absorb
by itself. A write that failed is tried again, as an application would.
"""

import json
import os
import select
import sys
import time
from collections.abc import Callable
from typing import Any, Protocol

PORT = 6379
PACE_S = 0.01


class Client(Protocol):
    """What both libraries have alike."""

    def set(self, key: str, value: str) -> Any: ...

    def get(self, key: str) -> Any: ...


def with_valkey_py(host: str, password: str) -> Client:
    from valkey.cluster import ValkeyCluster  # noqa: PLC0415 - only one of them is loaded

    client: Client = ValkeyCluster(host=host, port=PORT, password=password, socket_timeout=1)
    return client


def with_glide(host: str, password: str) -> Client:
    from glide_sync import (  # noqa: PLC0415 - only one of them is loaded
        GlideClusterClient,
        GlideClusterClientConfiguration,
        NodeAddress,
        ServerCredentials,
    )

    asked = GlideClusterClientConfiguration(
        [NodeAddress(host, PORT)], credentials=ServerCredentials(password), request_timeout=1000
    )
    client: Client = GlideClusterClient.create(asked)
    return client


LIBRARIES: dict[str, Callable[[str, str], Client]] = {"valkey-py": with_valkey_py, "glide": with_glide}


def is_told_to_stop() -> bool:
    return bool(select.select([sys.stdin], [], [], PACE_S)[0])


def write_until_told(client: Client, prefix: str) -> tuple[int, list[str]]:
    """The number of writes, which are numbered from one, and what did not go well on the way."""
    number, problems = 0, []
    while not is_told_to_stop():
        try:
            client.set(f"{prefix}:{number + 1}", str(number + 1))
        except Exception as problem:  # noqa: BLE001 - whatever a library lets through
            problems.append(f"{type(problem).__name__}: {problem}")
            continue
        number += 1
        if number == 1:
            say("under way")
    return number, problems


def lost(client: Client, prefix: str, count: int) -> list[int]:
    return [number for number in range(1, count + 1) if client.get(f"{prefix}:{number}") != str(number).encode()]


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    library, host, *given = sys.argv[1:]
    prefix = given[0] if given else "client"
    begun = time.monotonic()
    client = LIBRARIES[library](host, os.environ["PASSWORD"])
    count, problems = write_until_told(client, prefix)
    told = {"written": count, "lost": lost(client, prefix, count), "problems": problems, "s": time.monotonic() - begun}
    say(json.dumps(told))


if __name__ == "__main__":
    main()
