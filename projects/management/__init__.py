"""Commands of manage.py about projects.

It may import the layers from projects.templatetags down.
"""
