"""One shard: who is primary, who follows, what changes next. Decisions without I/O.

Belongs here: facts about a shard, and plans made from them. Does not belong here: how facts are gathered, how steps are
carried out, and what objects look like.
"""
