"""Forms of projects, questions, members and tokens.

It may import projects.authentication and the layers below.
"""
