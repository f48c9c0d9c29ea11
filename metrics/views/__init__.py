"""The pages of results, one package or module for each page.

It may import the layers from metrics.example down.
"""
