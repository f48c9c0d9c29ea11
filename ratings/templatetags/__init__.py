"""Template tags of the annotation pages.

It may import the layers from ratings.tasks down.
"""
