"""The overview and the statistics of a question, their tables as files, and the tour of a sample.

It may import the layers from metrics.views.questions down.
"""
