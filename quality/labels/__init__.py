"""Final labels as page, files, data card and API.

It may import its layer and the layers from quality.own_rater down.
"""
