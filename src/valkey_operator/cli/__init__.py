"""The commands a person or a container starts; each wires the other folders together.

Belongs here: flags, exit codes, sentences for a terminal, the composition of each program.
Must not be here: anything worth importing from elsewhere; no other folder may import this one.
"""
