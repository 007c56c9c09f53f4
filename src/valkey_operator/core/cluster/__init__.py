"""One cluster: who owns which slots, who follows whom, what changes next. Decisions without I/O.

Belongs here: facts about a cluster, every node's view merged into one, and plans made from them. Does not belong here:
how facts are gathered, how steps are carried out, and what objects look like.
"""
