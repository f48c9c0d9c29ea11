"""Items of a project: search, contents, forms, removal.

It may import the layers from ratings.personal_data down.
"""
