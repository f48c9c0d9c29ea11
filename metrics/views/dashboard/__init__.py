"""The overview and the statistics of a question, and their tables as files.

It may import metrics.views.project_list, metrics.views.raters and the layers below.
"""
