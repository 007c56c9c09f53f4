"""What keeps a fault from being staged, and how it is told."""

import re


class NotThereError(Exception):
    """What a fault is to be done to is not there now, such as a primary while nobody is one."""


def first_line(problem: BaseException) -> str:
    """Without the password that a command was given."""
    return re.sub(r"(-a )\S+", r"\1…", str(problem).partition("\n")[0]) or type(problem).__name__
