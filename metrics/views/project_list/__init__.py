"""The list of projects, the questions of a project, and the example projects.

It may import the layers from metrics.views.questions down.
"""
