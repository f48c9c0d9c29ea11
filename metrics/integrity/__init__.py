"""The audit: stored counts compared with the ratings, and recounts.

It may import the layers from metrics.jobs down.
"""
