"""The API of agreement.

It may import metrics.example and the layers below.
"""
