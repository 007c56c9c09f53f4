"""What is kept of a fault that could not be staged."""

from faults.problems import first_line


def test_what_a_failed_command_said_is_kept_without_its_password() -> None:
    problem = AssertionError("kubectl exec cart-0-0 -- valkey-cli -a s3cret --no-auth-warning PING: error\nmore")
    assert first_line(problem) == "kubectl exec cart-0-0 -- valkey-cli -a … --no-auth-warning PING: error"


def test_a_failure_without_words_is_kept_by_its_name() -> None:
    assert first_line(TimeoutError()) == "TimeoutError"
