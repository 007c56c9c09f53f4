"""Whether the servers of another image could read what those before them have written.

Owns: what a tag says of a version, and which changes are refused. Found on the servers themselves
(tests/valkey/test_formats.py): what any version wrote, every later one reads, and so does an older one of the same
major. No 8.x reads the files of 9.x, whatever is in them.
Refuses to know: how the versions that run were found out.
"""

import re
from collections.abc import Iterable, Iterator

from valkey_operator.core.validation import Problem

FIELD = "spec.image"
_FIRST_MAJOR = 7
"""Of Valkey; a lower number is a version of something else."""
_TAG = re.compile(r"v?(\d{1,4})(\.\d{1,4}){0,2}(?:[-_+].*)?", re.ASCII)


def parse_image_major(image: str) -> int | None:
    """The major version that a tag names; None where it names none, such as `latest`, or where there is no tag."""
    name = image.partition("@")[0].rpartition("/")[2]
    found = _TAG.fullmatch(name.partition(":")[2])
    return int(found[1]) if found and int(found[1]) >= _FIRST_MAJOR else None


def check_image(image: str, ran: Iterable[str | None]) -> Iterator[Problem]:
    """Refuse an image whose servers could not read the files of those that run, or ran last (`ran`: their versions)."""
    newest, major = _newest(ran), parse_image_major(image)
    if newest is not None and major is not None and major < _major(newest):
        remedy = (
            f"the servers run {newest}, and no {major}.x can read the files they write; set an image of "
            f"{_major(newest)}.x or newer, or make another Valkey and copy the data into it"
        )
        yield Problem(FIELD, f'"{image}"', remedy)


def image_warnings(image: str, images_of_nodes: Iterable[str], ran: Iterable[str | None]) -> list[Problem]:
    """What is not known about another image than the nodes have."""
    newest = _newest(ran)
    changes = any(each != image for each in images_of_nodes)
    if not changes or newest is None or parse_image_major(image) is not None:
        return []
    remedy = (
        f"its tag names no version, so it is not checked whether it can read the files of {newest}, which runs now; "
        f"nothing older than {_major(newest)}.x can"
    )
    return [Problem(FIELD, f'"{image}"', remedy)]


def _newest(ran: Iterable[str | None]) -> str | None:
    return max((each for each in ran if each), key=_numbers, default=None)


def _major(version: str) -> int:
    return _numbers(version)[0]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
