"""The inbox: everything that needs an action of the user, over all projects.

It may import its layer, quality.own_rater and the layers below.
"""
