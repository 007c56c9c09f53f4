import msgspec

from tests.support.render import source
from valkey_operator.core.names import TEMPLATE_ANNOTATION
from valkey_operator.core.render.node import MadeBefore, valkey_node
from valkey_operator.core.render.objects import Manifest
from valkey_operator.core.render.pod import Site

NEWER = Site(operator_namespace="ops", report_service="elsewhere:9444", agent_image="valkey-operator:99")


def before_of(manifest: Manifest) -> MadeBefore:
    spec, marks = manifest["spec"], manifest["metadata"]["annotations"]
    return MadeBefore(spec["podTemplate"], marks[TEMPLATE_ANNOTATION], spec["valkeyConfig"]["directives"])


def agent_image(manifest: Manifest) -> str:
    [agent] = manifest["spec"]["podTemplate"]["spec"]["initContainers"]
    return str(agent["image"])


def test_a_newer_operator_changes_no_template_until_the_node_is_rolled() -> None:
    made = valkey_node(source(), 0)
    newer = msgspec.structs.replace(source(), site=NEWER)
    assert valkey_node(newer, 0, before=before_of(made)) == made
    rolled = msgspec.structs.replace(newer, roll_hash="another")
    assert agent_image(valkey_node(rolled, 0, before=before_of(made))) == "valkey-operator:99"


def test_a_template_that_was_edited_by_hand_is_made_anew() -> None:
    made = valkey_node(source(), 0)
    edited = msgspec.json.decode(msgspec.json.encode(made))
    edited["spec"]["podTemplate"]["spec"]["initContainers"][0]["image"] = "mine"
    assert valkey_node(source(), 0, before=before_of(edited)) == made


def written_for(manifest: Manifest, *names: str) -> list[list[str] | None]:
    directives = manifest["spec"]["valkeyConfig"]["directives"]
    return [directives.get(name) for name in names]


def test_live_settings_that_no_server_has_taken_are_not_written_down() -> None:
    made = valkey_node(source(config={"hz": 10, "databases": 3}), 0)
    changed = source(config={"hz": 20, "databases": 4})
    held = valkey_node(changed, 0, before=before_of(made), is_proven=False)
    assert written_for(held, "hz", "databases") == [["10"], ["4"]]
    assert written_for(valkey_node(changed, 0, before=before_of(made)), "hz", "databases") == [["20"], ["4"]]
    assert written_for(valkey_node(changed, 1, is_proven=False), "hz") == [["20"]], "a new node has no former ones"
