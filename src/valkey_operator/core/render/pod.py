"""The pod of one node: the untouched server image, the agent beside it, and where they meet.

Owns: containers, volumes, probes and security of a pod. Refuses to know: which object makes the pod (workload.py).

The agent is a native sidecar: it is there before the server, which waits at its gate, and after it. Both run as the
same user, share the process namespace, and need no right at all.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from valkey_operator.api.fields import Json
from valkey_operator.api.references import SecretKeyRef
from valkey_operator.core.effective import EffectiveExporter, EffectiveWorkload
from valkey_operator.core.names import (
    OWNER_LABEL,
    agents_name,
    auth_secret_name,
    certificate_name,
    claim_name,
    is_clustered,
    record_name,
    settings_name,
)
from valkey_operator.core.render.objects import Manifest, without_empty
from valkey_operator.valkey.boot import BUS_PORT_ABOVE

SERVER, AGENT, EXPORTER = "valkey", "agent", "exporter"
SERVER_PORT, PROBE_PORT, ORDER_PORT, PEER_PORT = 6379, 9080, 9443, 9445
BUS_PORT = SERVER_PORT + BUS_PORT_ABOVE
_USER = 999
_BOOT, _GATE, _DATA, _TMP = "/boot", "/gate", "/data", "/tmp"  # noqa: S108 - a mount of the pod
_AUTH, _TLS, _TOKEN = "/auth", "/tls", "/var/run/secrets/valkey-operator"
_PASSWORD_KEY = "password"  # noqa: S105 - the name of a key
_TOKEN_SECONDS = 3600
# It hands over and is let go long before kubelet's own limit; the file is all that it shares with the agent.
_LEAVE = ": > /gate/leaving; n=0; while [ -e /gate/leaving ] && [ $n -lt 100 ]; do sleep 0.1; n=$((n+1)); done"

# Kubelet starts the server when this has ended; a startup probe would be asked only at the next full second.
_GATE_IS_THERE = "import os, time\nwhile not os.path.exists('/gate/go.conf'): time.sleep(0.01)"

UNPRIVILEGED: Manifest = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
POD_SECURITY: Manifest = {
    "runAsNonRoot": True,
    "runAsUser": _USER,
    "runAsGroup": _USER,
    "fsGroup": _USER,
    "fsGroupChangePolicy": "OnRootMismatch",
    "seccompProfile": {"type": "RuntimeDefault"},
}


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """The operator that the agents answer to."""

    operator_namespace: str
    report_service: str
    agent_image: str


def given_password(spec: EffectiveWorkload) -> SecretKeyRef | None:
    """The Secret that the user chose for the password."""
    if spec.auth.disabled:
        return None
    return spec.auth.secret_ref or (spec.auth.password.secret if spec.auth.password else None)


def password_source(spec: EffectiveWorkload, owner: str) -> SecretKeyRef | None:
    """Where the password of user default is; None where there is none."""
    if spec.auth.disabled:
        return None
    return given_password(spec) or SecretKeyRef(name=auth_secret_name(owner), key=_PASSWORD_KEY)


def pod_spec(
    spec: EffectiveWorkload, site: Site, *, labels: Mapping[str, str], node: str, scheduling: Manifest
) -> Manifest:
    """The pod of `node`, which belongs to the shard of these labels."""
    owner = labels[OWNER_LABEL]
    password = password_source(spec, owner)
    containers = [_server(spec, labels), *([_exporter(spec.exporter, password)] if spec.exporter.enabled else [])]
    return {
        "serviceAccountName": agents_name(owner),
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "shareProcessNamespace": True,
        "securityContext": {**POD_SECURITY, **(spec.security_context or {})},
        "initContainers": [_agent(spec, site, labels=labels, node=node, password=password)],
        "containers": containers,
        "volumes": _volumes(spec, node, password),
        **scheduling,
        **without_empty(
            imagePullSecrets=spec.image_pull_secrets,
            terminationGracePeriodSeconds=spec.termination_grace_period_seconds,
        ),
    }


def server_image(template: Json) -> str | None:
    """The server's image in a pod's template."""
    containers = template.get("spec", {}).get("containers", ())
    return next((each.get("image") for each in containers if each.get("name") == SERVER), None)


def _server(spec: EffectiveWorkload, labels: Mapping[str, str]) -> Manifest:
    bus = [{"name": "bus", "containerPort": BUS_PORT}] if is_clustered(labels) else []
    return {
        "name": SERVER,
        "image": spec.image,
        "command": ["valkey-server", f"{_BOOT}/boot.conf"],
        "workingDir": _DATA,
        "ports": [{"name": "valkey", "containerPort": SERVER_PORT}, *bus],
        "readinessProbe": _asks("/readyz", periodSeconds=1, timeoutSeconds=2, failureThreshold=2),
        "livenessProbe": _asks("/livez", periodSeconds=10, timeoutSeconds=5, failureThreshold=3),
        "lifecycle": {"preStop": {"exec": {"command": ["/bin/sh", "-c", _LEAVE]}}},
        "volumeMounts": [*_shared_mounts(), _mount("boot", _BOOT, read_only=True)],
        # A server that cannot start says why in the end of its log, and so does the status.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": UNPRIVILEGED,
        **without_empty(imagePullPolicy=spec.image_pull_policy, resources=spec.resources),
    }


def _agent(
    spec: EffectiveWorkload, site: Site, *, labels: Mapping[str, str], node: str, password: SecretKeyRef | None
) -> Manifest:
    owner = labels[OWNER_LABEL]
    told = {
        "NODE": node,
        "SHARD": record_name(labels),
        "CLUSTER": owner if is_clustered(labels) else None,
        "OPERATOR_NAMESPACE": site.operator_namespace,
        "OPERATOR": site.report_service,
        "SETTINGS_FILE": f"{_BOOT}/valkey.conf",
        "PASSWORD_FILE": f"{_AUTH}/{_PASSWORD_KEY}" if password else "",
        "MODULES": "" if spec.modules is None else msgspec.json.encode(spec.modules).decode(),
        # Replicas give leave to write to the primary on record, in a cluster some nodes to all.
        "PEERS": f"{owner}-nodes:{PEER_PORT}",
    }
    env: list[Json] = [
        {"name": "VALKEY_AGENT_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
        {"name": "VALKEY_AGENT_POD_UID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}},
        *({"name": f"VALKEY_AGENT_{name}", "value": value} for name, value in told.items() if value),
    ]
    mounts = [_mount("boot", _BOOT, read_only=True), _mount("tls", _TLS, read_only=True)]
    mounts += [_mount("token", _TOKEN, read_only=True)]
    mounts += [_mount("auth", _AUTH, read_only=True)] if password else []
    return {
        "name": AGENT,
        "image": spec.sidecar.image or site.agent_image,
        "restartPolicy": "Always",
        "args": ["agent"],
        "env": env,
        "ports": [
            {"name": "probe", "containerPort": PROBE_PORT},
            {"name": "orders", "containerPort": ORDER_PORT},
            {"name": "peers", "containerPort": PEER_PORT},
        ],
        "lifecycle": {"postStart": {"exec": {"command": ["python3", "-S", "-E", "-c", _GATE_IS_THERE]}}},
        "livenessProbe": _asks("/healthz", periodSeconds=10, timeoutSeconds=5, failureThreshold=3),
        "volumeMounts": [*_shared_mounts(), *mounts],
        "securityContext": UNPRIVILEGED,
        **without_empty(imagePullPolicy=spec.image_pull_policy, resources=spec.sidecar.resources),
    }


def _exporter(exporter: EffectiveExporter, password: SecretKeyRef | None) -> Manifest:
    env: list[Json] = [
        {"name": "REDIS_ADDR", "value": f"redis://localhost:{SERVER_PORT}"},
        {"name": "REDIS_EXPORTER_WEB_LISTEN_ADDRESS", "value": f":{exporter.port}"},
    ]
    if password:
        secret = {"name": password.name, "key": password.key or _PASSWORD_KEY}
        env.append({"name": "REDIS_PASSWORD", "valueFrom": {"secretKeyRef": secret}})
    return {
        "name": EXPORTER,
        "image": exporter.image,
        "env": env,
        "ports": [{"name": "metrics", "containerPort": exporter.port}],
        "securityContext": UNPRIVILEGED,
        **without_empty(resources=exporter.resources),
    }


def _volumes(spec: EffectiveWorkload, node: str, password: SecretKeyRef | None) -> list[Json]:
    claim = {"persistentVolumeClaim": {"claimName": claim_name(node)}}
    token = {"serviceAccountToken": {"path": "token", "expirationSeconds": _TOKEN_SECONDS}}
    root = {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}}
    found: list[Json] = [
        {"name": "data", **(claim if spec.persistence.enabled else {"emptyDir": {}})},
        {"name": "gate", "emptyDir": {"medium": "Memory", "sizeLimit": "8Mi"}},
        {"name": "tmp", "emptyDir": {}},
        {"name": "boot", "configMap": {"name": settings_name(node)}},
        {"name": "tls", "secret": {"secretName": certificate_name(node)}},
        {"name": "token", "projected": {"sources": [token, root]}},
    ]
    if password:
        items = [{"key": password.key or _PASSWORD_KEY, "path": _PASSWORD_KEY}]
        found.append({"name": "auth", "secret": {"secretName": password.name, "items": items}})
    return found


def _shared_mounts() -> list[Json]:
    return [_mount("data", _DATA), _mount("gate", _GATE), _mount("tmp", _TMP)]


def _mount(name: str, path: str, *, read_only: bool = False) -> Json:
    return {"name": name, "mountPath": path, **({"readOnly": True} if read_only else {})}


def _asks(path: str, **timing: int) -> dict[str, Any]:
    return {"httpGet": {"path": path, "port": PROBE_PORT}, **timing}
