"""Items with their ratings: search, contents, forms, removal.

It may import ratings.personal_data, ratings.rater_pseudonyms and the layers below.
"""
