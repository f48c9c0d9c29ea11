"""Exams before the first item: rules, sequential test, and waivers or attempts by leads.

It may import its layer, quality.own_rater and the layers below.
"""
