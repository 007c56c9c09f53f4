import pytest

from testbed.cli import main, parser, split_at_kubectl


def test_options_after_kubectl_are_kubectls() -> None:
    own, passed_on = split_at_kubectl(["--name", "a", "kubectl", "--namespace", "b", "get", "pods"])

    assert own == ["--name", "a", "kubectl"]
    assert passed_on == ["--namespace", "b", "get", "pods"]


@pytest.mark.parametrize("nodes", ["0", "33", "-1", "three", "1.5"])
def test_an_impossible_number_of_nodes_is_refused_with_the_possible_ones(
    nodes: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        parser().parse_args(["up", "--nodes", nodes])

    assert exit_.value.code == 2
    assert "1 to 32 nodes" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["status"], ["kubeconfig"], ["heal"], ["fault", "apiserver-down"], ["logs"]])
def test_a_command_for_a_testbed_that_is_not_there_says_how_to_get_one(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--name", "nowhere", *command]) == 1
    assert capsys.readouterr().err == (
        "testbed: no testbed 'nowhere' here: bring one up with `bin/testbed --name nowhere up`\n"
    )


def test_a_bad_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--name", "../x", "status"]) == 1
    assert "lower-case letters" in capsys.readouterr().err
