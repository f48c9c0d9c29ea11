"""Template tags of projects and of forms.

It may import the layers from projects.views down.
"""
