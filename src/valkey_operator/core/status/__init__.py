"""What a person is told: state, conditions and columns, from facts and from the reasons of a plan.

Belongs here: words, and which facts they stand for. Does not belong here: decisions about servers.
"""
