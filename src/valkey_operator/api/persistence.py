"""Where a node keeps its data, and how Valkey writes it there."""

from typing import Annotated, Literal

from valkey_operator.api.fields import DNS_SUBDOMAIN, MEMORY_SIZE, NAME_LENGTH, IntOrString, Model, doc, quantity


class SavePoint(Model, frozen=True, kw_only=True):
    """A snapshot is taken once both have been reached."""

    seconds: Annotated[int, doc("Take a snapshot after this many seconds …", minimum=1, maximum=31536000)]
    changes: Annotated[int, doc("… if at least this many keys have changed.", minimum=1, maximum=2147483647)]


class Rdb(Model, frozen=True, kw_only=True):
    """Snapshots."""

    enabled: Annotated[
        bool | None,
        doc("Take snapshots by the save policy. Built in: true, and false where persistence.enabled is false."),
    ] = None
    save_policy: Annotated[
        list[SavePoint] | None,
        doc(
            "When a snapshot is taken: as soon as any entry is fulfilled. "
            "Built in: 900 s with 1 change, 300 s with 10, 60 s with 10000.",
            maxItems=16,
        ),
    ] = None
    compression: Annotated[bool | None, doc("Compress strings in snapshots (LZF). Built in: true.")] = None


class Aof(Model, frozen=True, kw_only=True):
    """The append-only file."""

    enabled: Annotated[bool | None, doc("Log every write to the append-only file. Built in: false.")] = None
    fsync: Annotated[
        Literal["always", "everysec", "no"] | None,
        doc(
            "When writes reach the disk: always = before each reply, everysec = once a second, no = when the kernel "
            "likes. Built in: everysec."
        ),
    ] = None
    rewrite_percentage: Annotated[
        int | None,
        doc(
            "Rewrite the file once it has grown by this percentage; 0 = never by itself. Built in: 100.",
            minimum=0,
            maximum=2147483647,
        ),
    ] = None
    rewrite_min_size: Annotated[
        IntOrString | None,
        doc("Do not rewrite a file smaller than this. Built in: 64mb.", pattern=MEMORY_SIZE, maxLength=32),
    ] = None


class Volume(Model, frozen=True, kw_only=True):
    """The volume of a node."""

    enabled: Annotated[
        bool | None,
        doc("Keep data on a PersistentVolumeClaim. Cannot change after creation. Built in: true."),
    ] = None
    size: Annotated[
        IntOrString | None,
        quantity(
            "Size of each node's volume. It may grow, if the storage class allows it, and never shrink. Built in: 10Gi."
        ),
    ] = None
    storage_class_name: Annotated[
        str | None,
        doc(
            "Storage class of the volumes. Cannot change after creation. Built in: none, so the cluster's "
            "default class.",
            maxLength=NAME_LENGTH,
            pattern=DNS_SUBDOMAIN,
        ),
    ] = None
    retention: Annotated[
        Literal["Retain", "Delete"] | None,
        doc(
            "What becomes of volumes when nodes are removed: Retain keeps them, and a node of the same name takes its "
            "volume up again; Delete removes them with the node or the object. Suspending always keeps them. "
            "Built in: Retain."
        ),
    ] = None


class Persistence(Volume, frozen=True, kw_only=True):
    """The volume, and what Valkey writes to it."""

    rdb: Annotated[Rdb | None, doc("Snapshots (RDB).")] = None
    aof: Annotated[Aof | None, doc("Append-only file (AOF).")] = None
