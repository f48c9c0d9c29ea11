"""The API of projects, questions and members; the base of API views in a project.

It may import the layers from projects.forms down.
"""
