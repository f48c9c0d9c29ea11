"""Commands of manage.py about quality.

It may import the layers from quality.templatetags down.
"""
