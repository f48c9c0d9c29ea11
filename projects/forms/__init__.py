"""Forms of projects, questions, members and tokens.

It may import the layers from projects.authentication down.
"""
