"""Template tags of the annotation pages.

It may import ratings.tasks and the layers below.
"""
