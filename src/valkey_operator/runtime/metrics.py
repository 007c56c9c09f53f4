"""The figures of the engine, under one roof so that their names can be seen at a glance.

Owns: names, help texts and label sets; labels are bounded, never the names of objects.
Refuses to know: when a figure changes.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class EngineMetrics:
    """One set for one program."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.requests = Counter(
            "valkey_operator_api_requests",
            "Requests to the API server; code 0 is no answer.",
            ["method", "resource", "code"],
            registry=registry,
        )
        self.skipped_writes = Counter(
            "valkey_operator_skipped_writes", "Writes not sent: nothing changed.", ["resource"], registry=registry
        )
        self.watch_silence_s = Gauge(
            "valkey_operator_watch_silence_seconds",
            "Time since a cache last heard from the API server.",
            ["resource"],
            registry=registry,
        )
        self.watch_restarts = Counter(
            "valkey_operator_watch_restarts", "Watches opened anew.", ["resource", "reason"], registry=registry
        )
        self.undecodable = Counter(
            "valkey_operator_undecodable_objects",
            "Objects left out of a cache because they do not fit what is expected of their kind.",
            ["resource"],
            registry=registry,
        )
        self.queue_depth = Gauge(
            "valkey_operator_queue_depth", "Keys that wait for a worker.", ["controller"], registry=registry
        )
        self.queue_latency_s = Histogram(
            "valkey_operator_queue_latency_seconds",
            "From the moment a key is due until a worker starts.",
            ["controller", "lane"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.longest_running_s = Gauge(
            "valkey_operator_longest_running_seconds",
            "Age of the oldest reconcile under way.",
            ["controller"],
            registry=registry,
        )
        self.reconciles = Counter(
            "valkey_operator_reconciles", "Reconciles by outcome.", ["controller", "outcome"], registry=registry
        )
        self.reconcile_s = Histogram(
            "valkey_operator_reconcile_seconds",
            "How long reconciles take.",
            ["controller"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.term = Gauge(
            "valkey_operator_leader_term", "Term of leadership while this process leads, else 0.", registry=registry
        )
        self.reports = Counter(
            "valkey_operator_reports", "Reports of agents, by the status of the answer.", ["code"], registry=registry
        )
        self.dropped_events = Counter(
            "valkey_operator_dropped_events", "Events that were not sent.", ["reason"], registry=registry
        )
