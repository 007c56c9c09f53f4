from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Outcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OUTCOME_UNSPECIFIED: _ClassVar[Outcome]
    OUTCOME_OBEYED: _ClassVar[Outcome]
    OUTCOME_OTHER_POD: _ClassVar[Outcome]
    OUTCOME_OLD_TERM: _ClassVar[Outcome]
    OUTCOME_OLD_EPOCH: _ClassVar[Outcome]
    OUTCOME_BAD_ORDER: _ClassVar[Outcome]
    OUTCOME_NOBODY_WAITS: _ClassVar[Outcome]
    OUTCOME_NOT_RUNNING: _ClassVar[Outcome]
    OUTCOME_OTHER_HISTORY: _ClassVar[Outcome]
    OUTCOME_BEHIND: _ClassVar[Outcome]
    OUTCOME_SERVER_REFUSED: _ClassVar[Outcome]
    OUTCOME_NO_ANSWER: _ClassVar[Outcome]
    OUTCOME_NO_LICENCE: _ClassVar[Outcome]
    OUTCOME_VOLUME_TAKEN: _ClassVar[Outcome]
    OUTCOME_OTHER_STATE: _ClassVar[Outcome]
    OUTCOME_UNFINISHED: _ClassVar[Outcome]

class StartKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    START_KIND_UNSPECIFIED: _ClassVar[StartKind]
    START_KIND_WRITABLE_PRIMARY: _ClassVar[StartKind]
    START_KIND_FENCED_PRIMARY: _ClassVar[StartKind]
    START_KIND_REPLICA: _ClassVar[StartKind]
    START_KIND_PARKED: _ClassVar[StartKind]
    START_KIND_CLUSTER_NODE: _ClassVar[StartKind]

class FailoverKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FAILOVER_KIND_UNSPECIFIED: _ClassVar[FailoverKind]
    FAILOVER_KIND_PLANNED: _ClassVar[FailoverKind]
    FAILOVER_KIND_FORCE: _ClassVar[FailoverKind]
    FAILOVER_KIND_TAKEOVER: _ClassVar[FailoverKind]

class ProcessState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROCESS_STATE_UNSPECIFIED: _ClassVar[ProcessState]
    PROCESS_STATE_SHUT: _ClassVar[ProcessState]
    PROCESS_STATE_WAITING: _ClassVar[ProcessState]
    PROCESS_STATE_STARTING: _ClassVar[ProcessState]
    PROCESS_STATE_RUNNING: _ClassVar[ProcessState]
    PROCESS_STATE_GONE: _ClassVar[ProcessState]

class Health(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    HEALTH_UNSPECIFIED: _ClassVar[Health]
    HEALTH_ANSWERS: _ClassVar[Health]
    HEALTH_LOADING: _ClassVar[Health]
    HEALTH_BUSY: _ClassVar[Health]
    HEALTH_HUNG: _ClassVar[Health]
    HEALTH_REFUSES: _ClassVar[Health]
    HEALTH_UNREACHABLE: _ClassVar[Health]

class DiskError(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DISK_ERROR_UNSPECIFIED: _ClassVar[DiskError]
    DISK_ERROR_SNAPSHOT: _ClassVar[DiskError]
    DISK_ERROR_AOF: _ClassVar[DiskError]

class Role(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ROLE_UNSPECIFIED: _ClassVar[Role]
    ROLE_PRIMARY: _ClassVar[Role]
    ROLE_REPLICA: _ClassVar[Role]

class MigrationState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MIGRATION_STATE_UNSPECIFIED: _ClassVar[MigrationState]
    MIGRATION_STATE_UNDER_WAY: _ClassVar[MigrationState]
    MIGRATION_STATE_SUCCESS: _ClassVar[MigrationState]
    MIGRATION_STATE_FAILED: _ClassVar[MigrationState]
    MIGRATION_STATE_CANCELLED: _ClassVar[MigrationState]
OUTCOME_UNSPECIFIED: Outcome
OUTCOME_OBEYED: Outcome
OUTCOME_OTHER_POD: Outcome
OUTCOME_OLD_TERM: Outcome
OUTCOME_OLD_EPOCH: Outcome
OUTCOME_BAD_ORDER: Outcome
OUTCOME_NOBODY_WAITS: Outcome
OUTCOME_NOT_RUNNING: Outcome
OUTCOME_OTHER_HISTORY: Outcome
OUTCOME_BEHIND: Outcome
OUTCOME_SERVER_REFUSED: Outcome
OUTCOME_NO_ANSWER: Outcome
OUTCOME_NO_LICENCE: Outcome
OUTCOME_VOLUME_TAKEN: Outcome
OUTCOME_OTHER_STATE: Outcome
OUTCOME_UNFINISHED: Outcome
START_KIND_UNSPECIFIED: StartKind
START_KIND_WRITABLE_PRIMARY: StartKind
START_KIND_FENCED_PRIMARY: StartKind
START_KIND_REPLICA: StartKind
START_KIND_PARKED: StartKind
START_KIND_CLUSTER_NODE: StartKind
FAILOVER_KIND_UNSPECIFIED: FailoverKind
FAILOVER_KIND_PLANNED: FailoverKind
FAILOVER_KIND_FORCE: FailoverKind
FAILOVER_KIND_TAKEOVER: FailoverKind
PROCESS_STATE_UNSPECIFIED: ProcessState
PROCESS_STATE_SHUT: ProcessState
PROCESS_STATE_WAITING: ProcessState
PROCESS_STATE_STARTING: ProcessState
PROCESS_STATE_RUNNING: ProcessState
PROCESS_STATE_GONE: ProcessState
HEALTH_UNSPECIFIED: Health
HEALTH_ANSWERS: Health
HEALTH_LOADING: Health
HEALTH_BUSY: Health
HEALTH_HUNG: Health
HEALTH_REFUSES: Health
HEALTH_UNREACHABLE: Health
DISK_ERROR_UNSPECIFIED: DiskError
DISK_ERROR_SNAPSHOT: DiskError
DISK_ERROR_AOF: DiskError
ROLE_UNSPECIFIED: Role
ROLE_PRIMARY: Role
ROLE_REPLICA: Role
MIGRATION_STATE_UNSPECIFIED: MigrationState
MIGRATION_STATE_UNDER_WAY: MigrationState
MIGRATION_STATE_SUCCESS: MigrationState
MIGRATION_STATE_FAILED: MigrationState
MIGRATION_STATE_CANCELLED: MigrationState

class Order(_message.Message):
    __slots__ = ("term", "epoch", "pod_uid", "leave")
    TERM_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    POD_UID_FIELD_NUMBER: _ClassVar[int]
    LEAVE_FIELD_NUMBER: _ClassVar[int]
    term: int
    epoch: int
    pod_uid: str
    leave: Leave
    def __init__(self, term: _Optional[int] = ..., epoch: _Optional[int] = ..., pod_uid: _Optional[str] = ..., leave: _Optional[_Union[Leave, _Mapping]] = ...) -> None: ...

class Leave(_message.Message):
    __slots__ = ("boot_id", "clock_ms")
    BOOT_ID_FIELD_NUMBER: _ClassVar[int]
    CLOCK_MS_FIELD_NUMBER: _ClassVar[int]
    boot_id: str
    clock_ms: int
    def __init__(self, boot_id: _Optional[str] = ..., clock_ms: _Optional[int] = ...) -> None: ...

class Result(_message.Message):
    __slots__ = ("outcome", "detail", "report", "settings")
    class SettingsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    REPORT_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    outcome: Outcome
    detail: str
    report: NodeReport
    settings: _containers.ScalarMap[str, str]
    def __init__(self, outcome: _Optional[_Union[Outcome, str]] = ..., detail: _Optional[str] = ..., report: _Optional[_Union[NodeReport, _Mapping]] = ..., settings: _Optional[_Mapping[str, str]] = ...) -> None: ...

class ReportRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Address(_message.Message):
    __slots__ = ("host", "port")
    HOST_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    host: str
    port: int
    def __init__(self, host: _Optional[str] = ..., port: _Optional[int] = ...) -> None: ...

class MemberSet(_message.Message):
    __slots__ = ("nodes",)
    NODES_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, nodes: _Optional[_Iterable[str]] = ...) -> None: ...

class Terms(_message.Message):
    __slots__ = ("sets", "fence_after_ms", "missed_after_ms", "least_replicas", "elected")
    SETS_FIELD_NUMBER: _ClassVar[int]
    FENCE_AFTER_MS_FIELD_NUMBER: _ClassVar[int]
    MISSED_AFTER_MS_FIELD_NUMBER: _ClassVar[int]
    LEAST_REPLICAS_FIELD_NUMBER: _ClassVar[int]
    ELECTED_FIELD_NUMBER: _ClassVar[int]
    sets: _containers.RepeatedCompositeFieldContainer[MemberSet]
    fence_after_ms: int
    missed_after_ms: int
    least_replicas: int
    elected: bool
    def __init__(self, sets: _Optional[_Iterable[_Union[MemberSet, _Mapping]]] = ..., fence_after_ms: _Optional[int] = ..., missed_after_ms: _Optional[int] = ..., least_replicas: _Optional[int] = ..., elected: _Optional[bool] = ...) -> None: ...

class OpenRequest(_message.Message):
    __slots__ = ("order", "kind", "primary", "terms", "announced")
    ORDER_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    PRIMARY_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    ANNOUNCED_FIELD_NUMBER: _ClassVar[int]
    order: Order
    kind: StartKind
    primary: Address
    terms: Terms
    announced: Announced
    def __init__(self, order: _Optional[_Union[Order, _Mapping]] = ..., kind: _Optional[_Union[StartKind, str]] = ..., primary: _Optional[_Union[Address, _Mapping]] = ..., terms: _Optional[_Union[Terms, _Mapping]] = ..., announced: _Optional[_Union[Announced, _Mapping]] = ...) -> None: ...

class Announced(_message.Message):
    __slots__ = ("address", "hostname")
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    HOSTNAME_FIELD_NUMBER: _ClassVar[int]
    address: BusAddress
    hostname: str
    def __init__(self, address: _Optional[_Union[BusAddress, _Mapping]] = ..., hostname: _Optional[str] = ...) -> None: ...

class BusAddress(_message.Message):
    __slots__ = ("host", "port", "bus_port")
    HOST_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    BUS_PORT_FIELD_NUMBER: _ClassVar[int]
    host: str
    port: int
    bus_port: int
    def __init__(self, host: _Optional[str] = ..., port: _Optional[int] = ..., bus_port: _Optional[int] = ...) -> None: ...

class FollowRequest(_message.Message):
    __slots__ = ("order", "primary")
    ORDER_FIELD_NUMBER: _ClassVar[int]
    PRIMARY_FIELD_NUMBER: _ClassVar[int]
    order: Order
    primary: Address
    def __init__(self, order: _Optional[_Union[Order, _Mapping]] = ..., primary: _Optional[_Union[Address, _Mapping]] = ...) -> None: ...

class PromoteRequest(_message.Message):
    __slots__ = ("order", "replication_id", "at_least_offset", "terms")
    ORDER_FIELD_NUMBER: _ClassVar[int]
    REPLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    AT_LEAST_OFFSET_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    order: Order
    replication_id: str
    at_least_offset: int
    terms: Terms
    def __init__(self, order: _Optional[_Union[Order, _Mapping]] = ..., replication_id: _Optional[str] = ..., at_least_offset: _Optional[int] = ..., terms: _Optional[_Union[Terms, _Mapping]] = ...) -> None: ...

class BindRequest(_message.Message):
    __slots__ = ("order", "terms")
    ORDER_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    order: Order
    terms: Terms
    def __init__(self, order: _Optional[_Union[Order, _Mapping]] = ..., terms: _Optional[_Union[Terms, _Mapping]] = ...) -> None: ...

class ParkRequest(_message.Message):
    __slots__ = ("order",)
    ORDER_FIELD_NUMBER: _ClassVar[int]
    order: Order
    def __init__(self, order: _Optional[_Union[Order, _Mapping]] = ...) -> None: ...

class KillRequest(_message.Message):
    __slots__ = ("order",)
    ORDER_FIELD_NUMBER: _ClassVar[int]
    order: Order
    def __init__(self, order: _Optional[_Union[Order, _Mapping]] = ...) -> None: ...

class ConfigureRequest(_message.Message):
    __slots__ = ("order", "settings")
    class SettingsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ORDER_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    order: Order
    settings: _containers.ScalarMap[str, str]
    def __init__(self, order: _Optional[_Union[Order, _Mapping]] = ..., settings: _Optional[_Mapping[str, str]] = ...) -> None: ...

class ReleaseRequest(_message.Message):
    __slots__ = ("order",)
    ORDER_FIELD_NUMBER: _ClassVar[int]
    order: Order
    def __init__(self, order: _Optional[_Union[Order, _Mapping]] = ...) -> None: ...

class SetConfigEpochRequest(_message.Message):
    __slots__ = ("order", "config_epoch")
    ORDER_FIELD_NUMBER: _ClassVar[int]
    CONFIG_EPOCH_FIELD_NUMBER: _ClassVar[int]
    order: Order
    config_epoch: int
    def __init__(self, order: _Optional[_Union[Order, _Mapping]] = ..., config_epoch: _Optional[int] = ...) -> None: ...

class AddSlotsRequest(_message.Message):
    __slots__ = ("order", "slots")
    ORDER_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    order: Order
    slots: str
    def __init__(self, order: _Optional[_Union[Order, _Mapping]] = ..., slots: _Optional[str] = ...) -> None: ...

class MeetRequest(_message.Message):
    __slots__ = ("order", "peers")
    ORDER_FIELD_NUMBER: _ClassVar[int]
    PEERS_FIELD_NUMBER: _ClassVar[int]
    order: Order
    peers: _containers.RepeatedCompositeFieldContainer[BusAddress]
    def __init__(self, order: _Optional[_Union[Order, _Mapping]] = ..., peers: _Optional[_Iterable[_Union[BusAddress, _Mapping]]] = ...) -> None: ...

class ReplicateRequest(_message.Message):
    __slots__ = ("order", "primary_id")
    ORDER_FIELD_NUMBER: _ClassVar[int]
    PRIMARY_ID_FIELD_NUMBER: _ClassVar[int]
    order: Order
    primary_id: str
    def __init__(self, order: _Optional[_Union[Order, _Mapping]] = ..., primary_id: _Optional[str] = ...) -> None: ...

class ResetRequest(_message.Message):
    __slots__ = ("order",)
    ORDER_FIELD_NUMBER: _ClassVar[int]
    order: Order
    def __init__(self, order: _Optional[_Union[Order, _Mapping]] = ...) -> None: ...

class MigrateSlotsRequest(_message.Message):
    __slots__ = ("order", "slots", "target_id")
    ORDER_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    TARGET_ID_FIELD_NUMBER: _ClassVar[int]
    order: Order
    slots: str
    target_id: str
    def __init__(self, order: _Optional[_Union[Order, _Mapping]] = ..., slots: _Optional[str] = ..., target_id: _Optional[str] = ...) -> None: ...

class CancelMigrationsRequest(_message.Message):
    __slots__ = ("order",)
    ORDER_FIELD_NUMBER: _ClassVar[int]
    order: Order
    def __init__(self, order: _Optional[_Union[Order, _Mapping]] = ...) -> None: ...

class TakeSlotsRequest(_message.Message):
    __slots__ = ("order", "slots", "source_id")
    ORDER_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    order: Order
    slots: str
    source_id: str
    def __init__(self, order: _Optional[_Union[Order, _Mapping]] = ..., slots: _Optional[str] = ..., source_id: _Optional[str] = ...) -> None: ...

class GiveSlotsRequest(_message.Message):
    __slots__ = ("order", "slots", "target_id", "target", "within_ms")
    ORDER_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    TARGET_ID_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    WITHIN_MS_FIELD_NUMBER: _ClassVar[int]
    order: Order
    slots: str
    target_id: str
    target: Address
    within_ms: int
    def __init__(self, order: _Optional[_Union[Order, _Mapping]] = ..., slots: _Optional[str] = ..., target_id: _Optional[str] = ..., target: _Optional[_Union[Address, _Mapping]] = ..., within_ms: _Optional[int] = ...) -> None: ...

class SettleSlotsRequest(_message.Message):
    __slots__ = ("order", "slots", "owner_id")
    ORDER_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    OWNER_ID_FIELD_NUMBER: _ClassVar[int]
    order: Order
    slots: str
    owner_id: str
    def __init__(self, order: _Optional[_Union[Order, _Mapping]] = ..., slots: _Optional[str] = ..., owner_id: _Optional[str] = ...) -> None: ...

class FailoverRequest(_message.Message):
    __slots__ = ("order", "kind", "primary_id", "within_ms")
    ORDER_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    PRIMARY_ID_FIELD_NUMBER: _ClassVar[int]
    WITHIN_MS_FIELD_NUMBER: _ClassVar[int]
    order: Order
    kind: FailoverKind
    primary_id: str
    within_ms: int
    def __init__(self, order: _Optional[_Union[Order, _Mapping]] = ..., kind: _Optional[_Union[FailoverKind, str]] = ..., primary_id: _Optional[str] = ..., within_ms: _Optional[int] = ...) -> None: ...

class BumpEpochRequest(_message.Message):
    __slots__ = ("order",)
    ORDER_FIELD_NUMBER: _ClassVar[int]
    order: Order
    def __init__(self, order: _Optional[_Union[Order, _Mapping]] = ...) -> None: ...

class ForgetRequest(_message.Message):
    __slots__ = ("order", "id")
    ORDER_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    order: Order
    id: str
    def __init__(self, order: _Optional[_Union[Order, _Mapping]] = ..., id: _Optional[str] = ...) -> None: ...

class LicenceRequest(_message.Message):
    __slots__ = ("epoch", "pod_uid")
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    POD_UID_FIELD_NUMBER: _ClassVar[int]
    epoch: int
    pod_uid: str
    def __init__(self, epoch: _Optional[int] = ..., pod_uid: _Optional[str] = ...) -> None: ...

class LicenceReply(_message.Message):
    __slots__ = ("granted",)
    GRANTED_FIELD_NUMBER: _ClassVar[int]
    granted: bool
    def __init__(self, granted: _Optional[bool] = ...) -> None: ...

class Ack(_message.Message):
    __slots__ = ("boot_id", "seq", "term")
    BOOT_ID_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    boot_id: str
    seq: int
    term: int
    def __init__(self, boot_id: _Optional[str] = ..., seq: _Optional[int] = ..., term: _Optional[int] = ...) -> None: ...

class Misdirected(_message.Message):
    __slots__ = ("leader",)
    LEADER_FIELD_NUMBER: _ClassVar[int]
    leader: str
    def __init__(self, leader: _Optional[str] = ...) -> None: ...

class NodeReport(_message.Message):
    __slots__ = ("pod_uid", "boot_id", "seq", "agent_version", "process", "starts", "health", "server", "replication", "fenced", "persisted", "promised_term", "promised_epoch", "leaving", "whole", "settings_digest", "misses_primary", "terms", "disk_error", "clock_ms", "cluster", "kept_nodes", "keeps_terms")
    POD_UID_FIELD_NUMBER: _ClassVar[int]
    BOOT_ID_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    AGENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    PROCESS_FIELD_NUMBER: _ClassVar[int]
    STARTS_FIELD_NUMBER: _ClassVar[int]
    HEALTH_FIELD_NUMBER: _ClassVar[int]
    SERVER_FIELD_NUMBER: _ClassVar[int]
    REPLICATION_FIELD_NUMBER: _ClassVar[int]
    FENCED_FIELD_NUMBER: _ClassVar[int]
    PERSISTED_FIELD_NUMBER: _ClassVar[int]
    PROMISED_TERM_FIELD_NUMBER: _ClassVar[int]
    PROMISED_EPOCH_FIELD_NUMBER: _ClassVar[int]
    LEAVING_FIELD_NUMBER: _ClassVar[int]
    WHOLE_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_DIGEST_FIELD_NUMBER: _ClassVar[int]
    MISSES_PRIMARY_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    DISK_ERROR_FIELD_NUMBER: _ClassVar[int]
    CLOCK_MS_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    KEPT_NODES_FIELD_NUMBER: _ClassVar[int]
    KEEPS_TERMS_FIELD_NUMBER: _ClassVar[int]
    pod_uid: str
    boot_id: str
    seq: int
    agent_version: str
    process: ProcessState
    starts: int
    health: Health
    server: Server
    replication: Replication
    fenced: bool
    persisted: Persisted
    promised_term: int
    promised_epoch: int
    leaving: bool
    whole: bool
    settings_digest: str
    misses_primary: bool
    terms: Terms
    disk_error: DiskError
    clock_ms: int
    cluster: ClusterState
    kept_nodes: str
    keeps_terms: bool
    def __init__(self, pod_uid: _Optional[str] = ..., boot_id: _Optional[str] = ..., seq: _Optional[int] = ..., agent_version: _Optional[str] = ..., process: _Optional[_Union[ProcessState, str]] = ..., starts: _Optional[int] = ..., health: _Optional[_Union[Health, str]] = ..., server: _Optional[_Union[Server, _Mapping]] = ..., replication: _Optional[_Union[Replication, _Mapping]] = ..., fenced: _Optional[bool] = ..., persisted: _Optional[_Union[Persisted, _Mapping]] = ..., promised_term: _Optional[int] = ..., promised_epoch: _Optional[int] = ..., leaving: _Optional[bool] = ..., whole: _Optional[bool] = ..., settings_digest: _Optional[str] = ..., misses_primary: _Optional[bool] = ..., terms: _Optional[_Union[Terms, _Mapping]] = ..., disk_error: _Optional[_Union[DiskError, str]] = ..., clock_ms: _Optional[int] = ..., cluster: _Optional[_Union[ClusterState, _Mapping]] = ..., kept_nodes: _Optional[str] = ..., keeps_terms: _Optional[bool] = ...) -> None: ...

class ClusterState(_message.Message):
    __slots__ = ("nodes", "migrations", "keys", "keys_in_slots", "used_bytes", "limit_bytes", "serves")
    class KeysInSlotsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: int
        def __init__(self, key: _Optional[int] = ..., value: _Optional[int] = ...) -> None: ...
    NODES_FIELD_NUMBER: _ClassVar[int]
    MIGRATIONS_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    KEYS_IN_SLOTS_FIELD_NUMBER: _ClassVar[int]
    USED_BYTES_FIELD_NUMBER: _ClassVar[int]
    LIMIT_BYTES_FIELD_NUMBER: _ClassVar[int]
    SERVES_FIELD_NUMBER: _ClassVar[int]
    nodes: str
    migrations: _containers.RepeatedCompositeFieldContainer[SlotMigration]
    keys: int
    keys_in_slots: _containers.ScalarMap[int, int]
    used_bytes: int
    limit_bytes: int
    serves: bool
    def __init__(self, nodes: _Optional[str] = ..., migrations: _Optional[_Iterable[_Union[SlotMigration, _Mapping]]] = ..., keys: _Optional[int] = ..., keys_in_slots: _Optional[_Mapping[int, int]] = ..., used_bytes: _Optional[int] = ..., limit_bytes: _Optional[int] = ..., serves: _Optional[bool] = ...) -> None: ...

class SlotMigration(_message.Message):
    __slots__ = ("name", "importing", "source_id", "target_id", "slots", "state", "message", "updated_s")
    NAME_FIELD_NUMBER: _ClassVar[int]
    IMPORTING_FIELD_NUMBER: _ClassVar[int]
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    TARGET_ID_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    UPDATED_S_FIELD_NUMBER: _ClassVar[int]
    name: str
    importing: bool
    source_id: str
    target_id: str
    slots: str
    state: MigrationState
    message: str
    updated_s: int
    def __init__(self, name: _Optional[str] = ..., importing: _Optional[bool] = ..., source_id: _Optional[str] = ..., target_id: _Optional[str] = ..., slots: _Optional[str] = ..., state: _Optional[_Union[MigrationState, str]] = ..., message: _Optional[str] = ..., updated_s: _Optional[int] = ...) -> None: ...

class Server(_message.Message):
    __slots__ = ("version", "run_id", "mode")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    version: str
    run_id: str
    mode: str
    def __init__(self, version: _Optional[str] = ..., run_id: _Optional[str] = ..., mode: _Optional[str] = ...) -> None: ...

class Replication(_message.Message):
    __slots__ = ("role", "replication_id", "offset", "former_replication_id", "former_id_valid_below", "link", "replicas", "good_replicas")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    REPLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    FORMER_REPLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    FORMER_ID_VALID_BELOW_FIELD_NUMBER: _ClassVar[int]
    LINK_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    GOOD_REPLICAS_FIELD_NUMBER: _ClassVar[int]
    role: Role
    replication_id: str
    offset: int
    former_replication_id: str
    former_id_valid_below: int
    link: Link
    replicas: _containers.RepeatedCompositeFieldContainer[Replica]
    good_replicas: int
    def __init__(self, role: _Optional[_Union[Role, str]] = ..., replication_id: _Optional[str] = ..., offset: _Optional[int] = ..., former_replication_id: _Optional[str] = ..., former_id_valid_below: _Optional[int] = ..., link: _Optional[_Union[Link, _Mapping]] = ..., replicas: _Optional[_Iterable[_Union[Replica, _Mapping]]] = ..., good_replicas: _Optional[int] = ...) -> None: ...

class Link(_message.Message):
    __slots__ = ("primary", "up", "sync_in_progress", "received_offset")
    PRIMARY_FIELD_NUMBER: _ClassVar[int]
    UP_FIELD_NUMBER: _ClassVar[int]
    SYNC_IN_PROGRESS_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_OFFSET_FIELD_NUMBER: _ClassVar[int]
    primary: Address
    up: bool
    sync_in_progress: bool
    received_offset: int
    def __init__(self, primary: _Optional[_Union[Address, _Mapping]] = ..., up: _Optional[bool] = ..., sync_in_progress: _Optional[bool] = ..., received_offset: _Optional[int] = ...) -> None: ...

class Replica(_message.Message):
    __slots__ = ("address", "state", "acknowledged_offset")
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ACKNOWLEDGED_OFFSET_FIELD_NUMBER: _ClassVar[int]
    address: Address
    state: str
    acknowledged_offset: int
    def __init__(self, address: _Optional[_Union[Address, _Mapping]] = ..., state: _Optional[str] = ..., acknowledged_offset: _Optional[int] = ...) -> None: ...

class Persisted(_message.Message):
    __slots__ = ("rdb", "aof", "epoch", "was_primary", "offset")
    RDB_FIELD_NUMBER: _ClassVar[int]
    AOF_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    WAS_PRIMARY_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    rdb: bool
    aof: bool
    epoch: int
    was_primary: bool
    offset: int
    def __init__(self, rdb: _Optional[bool] = ..., aof: _Optional[bool] = ..., epoch: _Optional[int] = ..., was_primary: _Optional[bool] = ..., offset: _Optional[int] = ...) -> None: ...
