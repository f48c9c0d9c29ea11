"""Template tags of quality on pages of other packages.

It may import the layers from quality.tasks down.
"""
