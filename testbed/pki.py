"""The testbed's own certificate authority, its certificates, and the kubeconfigs that use them."""

import json
from pathlib import Path

from testbed.commands import output
from testbed.layout import Layout, NodeLayout

DAYS = "3650"

USERS = {
    "admin": "/O=system:masters/CN=admin",
    "controller-manager": "/CN=system:kube-controller-manager",
    "scheduler": "/CN=system:kube-scheduler",
    "proxy": "/CN=system:kube-proxy",
}


def ensure(layout: Layout) -> None:
    """Make whatever is missing of the authority, the control plane's certificates and its users' kubeconfigs."""
    layout.pki.mkdir(parents=True, exist_ok=True)
    layout.pki.chmod(0o700)
    ensure_authority(layout.pki)
    ensure_service_account_keys(layout.pki)
    names = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
    addresses = (layout.host_ip, "127.0.0.1", layout.api_service_ip)
    alternatives = [*(f"DNS:{name}" for name in names), *(f"IP:{address}" for address in addresses)]
    ensure_certificate(layout.pki, "apiserver", "/CN=kube-apiserver", alternatives)
    for user, subject in USERS.items():
        ensure_certificate(layout.pki, user, subject)
        write_kubeconfig(layout, user)


def ensure_node(layout: Layout, node: NodeLayout) -> None:
    subject = f"/O=system:nodes/CN=system:node:{node.name}"
    ensure_certificate(layout.pki, node.name, subject, [f"IP:{node.ip}", f"DNS:{node.name}"])
    write_kubeconfig(layout, node.name)


def ensure_authority(pki: Path) -> None:
    if (pki / "ca.crt").exists():
        return
    new_key(pki / "ca.key")
    subject = ["-subj", "/CN=testbed-ca", "-days", DAYS, "-addext", "keyUsage=critical,keyCertSign,cRLSign"]
    output(["openssl", "req", "-x509", "-new", "-key", pki / "ca.key", *subject, "-out", pki / "ca.crt.new"])
    (pki / "ca.crt.new").rename(pki / "ca.crt")


def ensure_service_account_keys(pki: Path) -> None:
    if (pki / "sa.pub").exists():
        return
    output(["openssl", "genrsa", "-out", pki / "sa.key", "2048"])
    output(["openssl", "rsa", "-in", pki / "sa.key", "-pubout", "-out", pki / "sa.pub.new"])
    (pki / "sa.pub.new").rename(pki / "sa.pub")


def new_key(path: Path) -> None:
    output(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path])
    path.chmod(0o600)


def ensure_certificate(pki: Path, name: str, subject: str, alternatives: list[str] | None = None) -> None:
    certificate, key = pki / f"{name}.crt", pki / f"{name}.key"
    if certificate.exists():
        return
    new_key(key)
    request = output(["openssl", "req", "-new", "-key", key, "-subj", subject])
    extensions = pki / f"{name}.ext"
    extensions.write_text(extension_text(alternatives or []))
    authority = ["-CA", f"{pki}/ca.crt", "-CAkey", f"{pki}/ca.key", "-CAcreateserial", "-extfile", str(extensions)]
    signed = output(["openssl", "x509", "-req", *authority, "-days", DAYS], stdin=request)
    draft = certificate.with_suffix(".new")
    draft.write_text(signed)
    draft.rename(certificate)


def extension_text(alternatives: list[str]) -> str:
    lines = [
        # Strict verifiers, such as Python's since 3.13, ask for all of these.
        "basicConstraints=CA:FALSE",
        "subjectKeyIdentifier=hash",
        "authorityKeyIdentifier=keyid",
        "keyUsage=digitalSignature,keyEncipherment",
        "extendedKeyUsage=serverAuth,clientAuth",
        *([f"subjectAltName={','.join(alternatives)}"] if alternatives else []),
    ]
    return "\n".join(lines) + "\n"


def write_kubeconfig(layout: Layout, user: str) -> None:
    pki = layout.pki
    client = {"client-certificate": str(pki / f"{user}.crt"), "client-key": str(pki / f"{user}.key")}
    cluster = {"server": layout.api_url, "certificate-authority": str(pki / "ca.crt")}
    context = {"cluster": layout.name, "user": user, "namespace": "default"}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": layout.name,
        "clusters": [{"name": layout.name, "cluster": cluster}],
        "users": [{"name": user, "user": client}],
        "contexts": [{"name": layout.name, "context": context}],
    }
    path = layout.kubeconfig(user)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(config, indent=1))
    path.chmod(0o600)
