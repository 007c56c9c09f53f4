"""The fault suite: break a Valkey or a cluster in every way the testbed can, while clients write, and account for all.

Lives here: clients that remember what they saw, the faults and their seeded schedules, what follows from a history, and
the report. Must not live here: how a machine, a network or a process is broken; that is `testbed/faults`.
"""
