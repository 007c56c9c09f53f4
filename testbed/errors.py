"""The one error that ends a command with a sentence instead of a traceback."""


class TestbedError(Exception):
    """What went wrong and what to do about it, in a sentence for the person at the terminal."""

    __test__ = False  # the name starts with "Test", but pytest should not collect it
