"""Pages of settings, questions, people, tokens and approvals.

It may import projects.forms and the layers below.
"""
