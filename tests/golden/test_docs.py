"""The documents say what the code says: fields, reasons, metrics, directives, modules, targets of make, links.

The tables of fields and of directives are written anew by `UPDATE_GOLDEN=1 .venv/bin/pytest tests/golden/test_docs.py`.
"""

import ast
import os
import re
from pathlib import Path
from typing import get_args

import pytest
from prometheus_client import CollectorRegistry

from tests.support import directive_table
from tests.support.documents import DOCUMENTS, REPOSITORY, code_in, read, table_rows
from tests.support.field_tables import CLUSTER_GUIDE, MARKED, NOT_YET, VALKEY_GUIDE, Guide, is_under, render_table
from valkey_operator.api.status import ConditionType, State
from valkey_operator.core.cluster.steps import Reason as ClusterReason
from valkey_operator.core.shard.steps import Reason
from valkey_operator.runtime.metrics import EngineMetrics
from valkey_operator.valkey.config_keys import OWNED

GUIDES = (VALKEY_GUIDE, CLUSTER_GUIDE)
SOURCES = REPOSITORY / "src" / "valkey_operator"
CAMEL_CASE = re.compile(r"[A-Z][a-z]+([A-Z][a-z]+)*")
STATUS_MODULES = (
    "core/status/workload.py",
    "core/status/valkey.py",
    "core/status/node.py",
    "core/status/cluster.py",
    "core/status/slots.py",
    "core/shard/wished.py",
)
EVENT_MODULES = (
    "controllers/telling.py",
    "controllers/valkey_report.py",
    "controllers/cluster_report.py",
    "controllers/live_settings.py",
)
# Kinds, labels and operations that statuses name; no words about a state.
NO_REASONS = {"StatefulSet", "Deployment", "Valkey", "True", "False", "Unknown", "Handover", "Failover", "Takeover"}
# Types of events, and an order.
NO_EVENT_REASONS = {"Warning", "Normal", "Configure"}
# What a table about behaviour need not name: generated code, and folders that only hold their docstring.
NO_BEHAVIOUR = {"proto/agent/v1/agent_pb2.py"}
# Reasons of records that are too frequent to be told as events.
NO_EVENTS = {Reason.MEMBERS_CHANGED, Reason.WISH_FORGOTTEN}


def first_codes(text: str, *head: str) -> set[str]:
    return {code for row in table_rows(text, *head) for code in code_in(row[0])}


def words_in(*modules: str) -> set[str]:
    """The CamelCase words that stand as strings in these modules."""
    trees = [ast.parse((SOURCES / module).read_text()) for module in modules]
    found = {node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    return {word for word in found if isinstance(word, str) and CAMEL_CASE.fullmatch(word)} - NO_REASONS


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: str(guide.document))
def test_the_tables_of_fields_are_what_the_models_say(guide: Guide) -> None:
    text = read(guide.document)
    wanted = MARKED.sub(
        lambda found: (
            f"<!-- fields: {found['prefixes']} -->\n{render_table(guide, found['prefixes'].split())}<!-- end -->\n"
        ),
        text,
    )
    if os.environ.get("UPDATE_GOLDEN") == "1":
        (REPOSITORY / guide.document).write_text(wanted)
        return
    assert text == wanted, f"{guide.document} is stale: run with UPDATE_GOLDEN=1 and review the diff"


def test_the_table_of_directives_is_what_the_code_says() -> None:
    text = read("docs/directives.md")
    wanted = directive_table.MARKED.sub(lambda _: directive_table.render_directives(), text)
    if os.environ.get("UPDATE_GOLDEN") == "1":
        (REPOSITORY / "docs/directives.md").write_text(wanted)
        return
    assert text == wanted, "docs/directives.md is stale: run with UPDATE_GOLDEN=1 and review the diff"


def tables_of(guide: Guide) -> dict[str, list[str]]:
    """Each field, and the tables in which it stands."""
    prefixes = [prefix for found in MARKED.finditer(read(guide.document)) for prefix in found["prefixes"].split()]
    return {field.path: [each for each in prefixes if is_under(field.path, each)] for field in guide.fields()}


def test_every_field_of_a_valkey_stands_in_exactly_one_table() -> None:
    assert {path: found for path, found in tables_of(VALKEY_GUIDE).items() if len(found) != 1} == {}


def test_every_field_that_a_cluster_has_otherwise_than_a_valkey_stands_in_exactly_one_table() -> None:
    alike = {field for field in VALKEY_GUIDE.fields() if not is_under(field.path, "azDistribution")}
    own = {field.path for field in set(CLUSTER_GUIDE.fields()) - alike}
    assert {path for path, found in tables_of(CLUSTER_GUIDE).items() if len(found) == 1} == own


def test_what_is_not_acted_on_yet_are_fields_that_exist() -> None:
    fields = VALKEY_GUIDE.fields()
    assert [each for each in NOT_YET if not any(is_under(field.path, each) for field in fields)] == []


def test_every_directive_that_the_operator_owns_is_listed_with_what_to_use_instead() -> None:
    listed = {code: row[1] for row in table_rows(read(VALKEY_GUIDE.document), "directive") for code in code_in(row[0])}
    assert listed == dict(OWNED)


def test_every_state_is_explained() -> None:
    assert first_codes(read("docs/status.md"), "state") == set(get_args(State))


def test_every_condition_is_explained() -> None:
    assert first_codes(read("docs/status.md"), "condition") == {str(each) for each in ConditionType}


def test_every_reason_is_explained() -> None:
    states = set(get_args(State)) - {"Suspended"}
    words = words_in(*STATUS_MODULES) - states
    assert first_codes(read("docs/status.md"), "reason") == words


def test_every_event_that_is_no_change_of_state_is_explained() -> None:
    words = words_in(*EVENT_MODULES)
    others = words - set(get_args(State)) - NO_EVENT_REASONS
    changes = {str(each) for each in (*(set(Reason) - NO_EVENTS), *ClusterReason)}
    assert first_codes(read("docs/status.md"), "event") == changes | others


def test_every_metric_is_listed_with_its_labels() -> None:
    registry = CollectorRegistry()
    EngineMetrics(registry)
    suffixes = {"counter": "_total"}
    wanted = {f"{family.name}{suffixes.get(family.type, '')}" for family in registry.collect()}
    assert first_codes(read("docs/operations.md"), "metric") == wanted


def modules_named(cell: str) -> set[str]:
    """The files that a cell names; one without a folder is in that of the file before it, a folder means all in it."""
    found: set[str] = set()
    folder = ""
    for code in code_in(cell):
        if "/" in code:
            folder = code if code.endswith("/") else str(Path(code).parent)
        path = REPOSITORY / (code if "/" in code else f"{folder}/{code}")
        if path.suffix == ".py" and path.exists():
            found.add(str(path.relative_to(REPOSITORY)))
        elif path.is_dir():
            found |= {str(file.relative_to(REPOSITORY)) for file in path.glob("*.py")}
    return found


def test_every_module_stands_in_the_table_of_what_happens_where() -> None:
    rows = table_rows(read("docs/architecture.md"), "what happens", "file")
    named = {module for row in rows for module in modules_named(row[1])}
    files = [file for file in SOURCES.rglob("*.py") if file.name not in ("__init__.py", "__main__.py")]
    modules = {str(file.relative_to(REPOSITORY)) for file in files}
    missing = modules - named - {f"src/valkey_operator/{each}" for each in NO_BEHAVIOUR}
    assert sorted(missing) == []


def test_the_table_of_what_happens_where_names_only_files_that_exist() -> None:
    gone = []
    for row in table_rows(read("docs/architecture.md"), "what happens", "file"):
        folder = REPOSITORY
        for code in code_in(row[1]):
            path = REPOSITORY / code if "/" in code else folder / code
            folder = path if path.is_dir() else path.parent
            if Path(code).suffix and not (path.exists() or (REPOSITORY / code).exists()):
                gone.append(code)
    assert gone == []


def anchors_of(document: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^a-z0-9 _-]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: str(file.relative_to(REPOSITORY)))
def test_every_link_leads_to_a_file_and_a_heading_that_exist(document: Path) -> None:
    broken = []
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", document.read_text()):
        name, _, anchor = link.partition("#")
        target = (document.parent / name) if name else document
        if not target.exists() or (anchor and anchor not in anchors_of(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: str(file.relative_to(REPOSITORY)))
def test_every_target_of_make_that_is_named_exists(document: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), flags=re.MULTILINE))
    named = {code.split()[1] for code in code_in(document.read_text()) if re.fullmatch(r"make [a-z-]+( .*)?", code)}
    assert named <= targets


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: str(file.relative_to(REPOSITORY)))
def test_no_path_of_somebodys_machine_is_in_a_document(document: Path) -> None:
    assert re.findall(r"/(?:root|home|work)/\S+", document.read_text()) == []
