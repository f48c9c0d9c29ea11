"""Reports as pages: sentences, sections, and requests of new ones.

It may import metrics.views.common.
"""
