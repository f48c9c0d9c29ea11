"""Template tags of projects and of forms.

It may import projects.views, projects.api and the layers below.
"""
