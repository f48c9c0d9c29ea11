"""Reports as pages: sentences, sections, and requests of new ones.

It may import the layers from metrics.views.common down.
"""
