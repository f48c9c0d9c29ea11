"""Changes of projects, questions, items, raters, members and tokens.

It may import the layers from projects.selectors down.
"""
