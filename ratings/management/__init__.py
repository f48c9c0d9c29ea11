"""Commands of manage.py about ratings.

It may import its layer, ratings.templatetags and the layers below.
"""
