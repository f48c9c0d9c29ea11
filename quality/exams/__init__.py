"""Exams before the first item: rules, sequential test, and waivers or attempts by leads.

It may import its layer and the layers from quality.own_rater down.
"""
