"""The inbox: everything that needs an action of the user, over all projects.

It may import its layer and the layers from quality.own_rater down.
"""
