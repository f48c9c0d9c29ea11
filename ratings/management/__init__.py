"""Commands of manage.py about ratings.

It may import its layer and the layers from ratings.templatetags down.
"""
