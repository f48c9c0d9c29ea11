"""Commands of manage.py about quality.

It may import quality.templatetags and the layers below.
"""
