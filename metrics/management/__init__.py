"""Commands of manage.py about agreement, and the analysis of files without a project.

It may import the layers from metrics.templatetags down.
"""
