"""Pages of settings, questions, people, tokens and approvals.

It may import the layers from projects.forms down.
"""
