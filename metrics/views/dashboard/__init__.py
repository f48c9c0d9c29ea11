"""The overview and the statistics of a question, and their tables as files.

It may import the layers from metrics.views.project_list down.
"""
