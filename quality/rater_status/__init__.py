"""One status of each rater with its reasons, the list of raters, messages to raters.

It may import its layer and the layers from quality.own_rater down.
"""
