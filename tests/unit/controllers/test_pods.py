"""What a pod that does not come up says of itself."""

from valkey_operator.controllers.pods import last_words

LOG = """7:M 16 Nov 2026 04:02:18.100 * Server initialized
7:M 16 Nov 2026 04:02:18.101 # Module /m/none.so failed to load: It does not exist or does not have execute permissions.
7:M 16 Nov 2026 04:02:18.101 # Can't load module from /m/none.so: server aborting
"""


def test_the_last_words_of_a_server_are_told_without_their_times() -> None:
    words = last_words(LOG).split(" | ")
    assert words[0] == "Server initialized"
    assert words[-1] == "Can't load module from /m/none.so: server aborting"


def test_a_container_that_left_no_log_has_no_last_words() -> None:
    assert last_words("\n") == ""
