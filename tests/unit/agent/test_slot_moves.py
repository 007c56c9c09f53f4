import pytest

from valkey_operator.agent.slot_moves import MOST_PORTION, next_portion


@pytest.mark.parametrize(
    ("portion", "sent", "took_s", "following"),
    [
        (32, 32, 0.001, 64),
        (32, 5, 0.001, 32),
        (32, 32, 0.01, 32),
        (32, 32, 0.1, 16),
        (512, 3, 0.1, 1),
        (1, 1, 9.0, 1),
        (MOST_PORTION, MOST_PORTION, 0.001, MOST_PORTION),
    ],
    ids=str,
)
def test_a_portion_grows_while_it_takes_a_moment_and_shrinks_when_clients_wait_for_it(
    portion: int, sent: int, took_s: float, following: int
) -> None:
    assert next_portion(portion, sent, took_s) == following
