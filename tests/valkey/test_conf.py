"""What we write into valkey.conf is what a server of each version has afterwards."""

from pathlib import Path

import pytest
import valkey

from tests.valkey.servers import Server, running
from valkey_operator.api.fields import ConfigScalar, ConfigValue
from valkey_operator.valkey.conf import Directive, directives_of, render_conf
from valkey_operator.valkey.config_keys import needs_restart
from valkey_operator.valkey.config_names import NAMES_SINCE, may_exist
from valkey_operator.valkey.info import Version, parse_sections, parse_server

pytestmark = pytest.mark.every_version

HOSTILE = [
    'double " quotes',
    "single ' quotes",
    "# not a comment",
    "back\\slash \\n \\x41",
    "Zürich, 東京",
    "control \x01\x02 \x1b[31m",
    "tab\tand trailing space ",
    "first\nport 1\nrequirepass stolen",
    "carriage\rreturn",
    '" \n maxclients 7',
    "$HOME `id` ; | & *",
]


@pytest.mark.parametrize("value", HOSTILE)
def test_any_value_arrives_as_it_is_and_smuggles_nothing_in(version: str, value: str, tmp_path: Path) -> None:
    file = tmp_path / "extra.conf"
    file.write_text(render_conf([Directive("primaryauth", (value,)), Directive("maxclients", ("123",))]))
    with running(version, include=str(file)) as server, server.client() as client:
        assert client.config_get("primaryauth") == {"primaryauth": value}
        assert client.config_get("maxclients") == {"maxclients": "123"}
        assert client.config_get("requirepass") == {"requirepass": ""}
        assert client.config_get("port") == {"port": str(server.port)}


def test_words_of_one_directive_may_come_in_one_pair_of_quotes_and_lists_repeat_it(
    version: str, tmp_path: Path
) -> None:
    file = tmp_path / "extra.conf"
    limits: list[ConfigScalar] = ["normal 1mb 2mb 60", "pubsub 3mb 4mb 50"]
    config: dict[str, ConfigValue] = {
        "save": "900 1 300 10",
        "oom-score-adj-values": "0 100 200",
        "client-output-buffer-limit": limits,
    }
    file.write_text(render_conf(directives_of(config)))
    with running(version, include=str(file)) as server, server.client() as client:
        # `save ""`, given by the test itself, comes first: the included file is read afterwards.
        assert client.config_get("save") == {"save": "900 1 300 10"}
        assert client.config_get("oom-score-adj-values") == {"oom-score-adj-values": "0 100 200"}
        [found] = client.config_get("client-output-buffer-limit").values()
        assert "normal 1048576 2097152 60" in found
        assert "pubsub 3145728 4194304 50" in found


def refuses(client: valkey.Valkey, key: str, value: str) -> bool:
    try:
        client.config_set(key, value)
    except valkey.ResponseError:
        return True
    return False


def version_of(server: Server) -> Version:
    return parse_server(parse_sections(server.info())).version


def test_the_table_of_directives_that_need_a_restart_is_what_the_server_says(version: str) -> None:
    with running(version) as server, server.client() as client:
        release = version_of(server)
        found = {key for key, value in client.config_get("*").items() if refuses(client, key, value)}
        assert found == {key for key in client.config_get("*") if needs_restart(key, release)}


def test_the_table_of_names_is_what_the_server_knows(version: str) -> None:
    with running(version) as server, server.client() as client:
        release = version_of(server)
        found = set(client.config_get("*"))
    assert {key for key in found if not may_exist(key, release)} == set()
    later = set().union(*(names for since, names in NAMES_SINCE.items() if since > release[:2]))
    assert found & later == set()
