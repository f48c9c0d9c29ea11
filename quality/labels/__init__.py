"""Final labels as page, files, data card and API.

It may import its layer, quality.own_rater and the layers below.
"""
