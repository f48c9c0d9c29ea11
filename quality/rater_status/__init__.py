"""One status of each rater with its reasons, the list of raters, messages to raters.

It may import its layer, quality.own_rater and the layers below.
"""
