import pytest

from testbed.errors import TestbedError
from testbed.machine import check_kernel


def test_every_kernel_feature_that_is_missing_is_named_in_one_sentence() -> None:
    features = {"overlayfs": lambda: False, "namespaces": lambda: True, "loop devices": lambda: False}

    with pytest.raises(TestbedError) as refusal:
        check_kernel(features)

    assert str(refusal.value) == "this kernel lacks what a testbed needs: overlayfs, loop devices"


def test_a_kernel_that_has_everything_is_accepted() -> None:
    check_kernel({"namespaces": lambda: True})
