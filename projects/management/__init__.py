"""Commands of manage.py about projects.

It may import projects.templatetags and the layers below.
"""
