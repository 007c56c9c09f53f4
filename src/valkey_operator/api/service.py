"""Services through which clients reach the servers."""

from typing import Annotated, Literal

from valkey_operator.api.fields import Model, doc

ServiceType = Literal["ClusterIP", "NodePort", "LoadBalancer"]


class Service(Model, frozen=True, kw_only=True):
    """A Service of Kubernetes."""

    type: Annotated[ServiceType | None, doc("Type of the Service. Built in: ClusterIP.")] = None
    annotations: Annotated[
        dict[str, str] | None,
        doc("Annotations on the Service, for load balancers and the like. Built in: none.", maxProperties=64),
    ] = None


class ReadService(Service, frozen=True, kw_only=True):
    """The Service over the replicas."""

    enabled: Annotated[bool | None, doc("Create the Service <name>-read, over all replicas. Built in: false.")] = None
