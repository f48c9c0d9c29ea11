"""Template tags of quality on pages of other packages.

It may import quality.tasks and the layers below.
"""
