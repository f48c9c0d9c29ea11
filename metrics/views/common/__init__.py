"""Selection, filters, sources, texts and formats that several pages of results share.

It imports no other module of metrics.views.
"""
