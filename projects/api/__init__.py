"""The API of projects, questions and members; the base of API views in a project.

It may import projects.forms and the layers below.
"""
