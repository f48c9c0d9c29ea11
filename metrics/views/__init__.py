"""The pages of results, one package or module for each page.

It may import metrics.example and the layers below.
"""
