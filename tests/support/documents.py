"""The documents of the project as tests read them: tables, code blocks, links."""

import re
from pathlib import Path
from typing import Any

import yaml

REPOSITORY = Path(__file__).parents[2]
DOCUMENTS = (
    REPOSITORY / "README.md",
    REPOSITORY / "CONTRIBUTING.md",
    *sorted((REPOSITORY / "docs").rglob("*.md")),
)
EXAMPLES = sorted((REPOSITORY / "examples").glob("*.yaml"))
VALKEY_EXAMPLES = [file for file in EXAMPLES if file.name.startswith("valkey-")]
CLUSTER_EXAMPLES = [file for file in EXAMPLES if file not in VALKEY_EXAMPLES]

_CODE = re.compile(r"`([^`]+)`")


def read(name: str) -> str:
    """A document by its path in the repository."""
    return (REPOSITORY / name).read_text()


def table_rows(text: str, *head: str) -> list[list[str]]:
    """The rows of all tables whose head begins with these words, as cells."""
    rows: list[list[str]] = []
    inside = False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")] if line.startswith("|") else []
        if tuple(cell.strip() for cell in cells[: len(head)]) == head:
            inside = True
        elif not cells:
            inside = False
        elif inside and not set(cells[0]) <= set("- "):
            rows.append(cells)
    return rows


def code_in(cell: str) -> list[str]:
    """What stands between backticks."""
    return _CODE.findall(cell)


def manifests_in(text: str) -> list[dict[str, Any]]:
    """Every object in the YAML blocks of a document."""
    blocks = re.findall(r"^```yaml\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    found = [each for block in blocks for each in yaml.safe_load_all(block)]
    return [each for each in found if isinstance(each, dict) and "kind" in each]
