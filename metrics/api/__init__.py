"""The API of agreement.

It may import the layers from metrics.example down.
"""
