"""The role of a server as a label of its pod, by which Services find it.

Owns: how it is written. Refuses to know: who is what (core/shard/roles.py, core/cluster/pods.py).
"""

from valkey_operator.controllers.keeper import Keeper
from valkey_operator.controllers.kinds import PodObject
from valkey_operator.core.names import ROLE_LABEL
from valkey_operator.core.pods import PodFacts
from valkey_operator.kube.objects import Key


async def label_pod(pods: Keeper[PodObject], namespace: str, pod: PodFacts | None, role: str) -> None:
    """Say what the server of a pod is, unless it is said or the pod is going."""
    # One that was just labelled is not shown by the cache yet.
    if pod is None or pod.role == role or pod.leaving or not pods.store.is_current(Key(namespace, pod.name)):
        return
    # With the uid, a pod that is gone is not made anew.
    meta = {"namespace": namespace, "name": pod.name, "uid": pod.uid, "labels": {ROLE_LABEL: role}}
    await pods.writer.apply({"metadata": meta}, PodObject)
