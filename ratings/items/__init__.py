"""Items of a project: search, contents, forms, removal."""
