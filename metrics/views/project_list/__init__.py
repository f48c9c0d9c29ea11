"""The list of projects, with its stars and its buttons for example projects.

It may import the layers from metrics.views.questions down.
"""
