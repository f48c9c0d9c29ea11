"""Changes of projects, questions, items, raters, members and tokens.

It may import projects.selectors and the layers below.
"""
