"""What a kind of fault is: how it is prepared, staged and healed, and what is promised while it lasts."""

from abc import ABC, abstractmethod
from typing import ClassVar

from faults.ground import Ground
from faults.promises import Promise
from faults.schedule import Lasting
from faults.settings import Setting
from testbed import faults as testbed_faults
from testbed.faults import Fault

AT_ONCE = Lasting(0, 0)


class Kind(ABC):
    """One fault of one run. `variant` is a number to draw choices from."""

    name: ClassVar[str]
    setting: ClassVar[Setting] = Setting.VALKEY
    promise: ClassVar[Promise] = Promise.UNPLANNED
    lasting: ClassVar[Lasting] = AT_ONCE
    is_costly: ClassVar[bool] = False
    """Run only where it is asked for by name."""
    usually_settled_s: ClassVar[float] = 10.0
    """What takes longer is not broken again: kubelet waits longer and longer before it starts what has often ended."""

    def __init__(self, ground: Ground, variant: int) -> None:
        self.ground = ground
        self.variant = variant

    def prepare(self) -> None:  # noqa: B027 - most need nothing
        """Bring about what the fault presupposes, before clients begin."""

    @abstractmethod
    def stage(self) -> str:
        """Break it, and say what was done to whom."""

    def heal(self) -> None:  # noqa: B027 - many are over at once
        """Mend it; also where the staging was cut short."""


class OnTestbed(Kind):
    """A fault of the testbed's own, or several at once."""

    def __init__(self, ground: Ground, variant: int) -> None:
        super().__init__(ground, variant)
        self._staged: list[Fault] = []

    @abstractmethod
    def faults(self) -> list[Fault]:
        """What to inject, with the targets of this moment."""

    def stage(self) -> str:
        self._staged = self.faults()
        for fault in self._staged:
            testbed_faults.inject(self.ground.layout, fault)
        return ", ".join(str(fault) for fault in self._staged)

    def heal(self) -> None:
        for fault in self._staged:
            testbed_faults.heal(self.ground.layout, fault)
