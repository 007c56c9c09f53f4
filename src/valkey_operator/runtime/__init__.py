"""What keeps a long-running program going, whatever the program is about.

Belongs here: queue, controller loop, back-off, leadership, health endpoint, logs.
Must not be here: any knowledge of Valkey or of one kind of object.
"""
