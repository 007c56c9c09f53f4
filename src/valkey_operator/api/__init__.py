"""The custom resources as typed models: one module per kind, with its defaults, validation and schema.

Belongs here: frozen msgspec structs, the spelling of every condition and reason, pure checks over one object.
Must not be here: behaviour, decisions, I/O of any sort. Imports nothing else of this package.
"""
