"""The table of docs/directives.md: made from the code, so that the document cannot say otherwise.

It stands between `<!-- directives -->` and `<!-- end -->`.
"""

import re

from valkey_operator.valkey.config_defaults import ALIASES, DEFAULTS
from valkey_operator.valkey.config_keys import LIVE_SINCE, ONLY_IN_FILES, Change, how_it_changes
from valkey_operator.valkey.config_names import NAMES_SINCE

MARKED = re.compile(r"(?<=<!-- directives -->\n).*?(?=<!-- end -->\n)", re.DOTALL)
_HEAD = "| directive | since | a change | built in |\n| --- | --- | --- | --- |\n"


def render_directives() -> str:
    """One row for each directive that a server of any version knows."""
    since = {name: release for release, names in NAMES_SINCE.items() for name in names}
    rows = [
        f"| `{name}` | {major}.{minor} | {_change(name)} | {_built_in(name)} |"
        for name, (major, minor) in sorted(since.items())
    ]
    return _HEAD + "".join(f"{row}\n" for row in rows)


def _change(name: str) -> str:
    change = str(how_it_changes(name))
    if name in LIVE_SINCE:
        return f"{change}, for the sake of versions before {_release(LIVE_SINCE[name])}"
    if name in ONLY_IN_FILES:
        return f"{change}; without effect from {_release(ONLY_IN_FILES[name])} on"
    return change


def _built_in(name: str) -> str:
    if name in ALIASES:
        return f"see `{ALIASES[name]}`"
    value = DEFAULTS.get(name) if how_it_changes(name) is Change.LIVE else None
    return f"`{value}`" if value else ""


def _release(version: tuple[int, ...]) -> str:
    return f"{version[0]}.{version[1]}"
