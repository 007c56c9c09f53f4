"""The versioned protobuf contracts between operator and agents, and the code generated from them.

Belongs here: .proto files and generated modules; a field is never renumbered or reused.
Must not be here: hand-written behaviour. Imports nothing else of this package.
"""
