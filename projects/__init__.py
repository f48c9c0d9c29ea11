"""Projects, questions, items, raters, members and permissions: what is rated, and by whom.

It may import the layers from core down.
"""
