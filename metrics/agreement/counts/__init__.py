"""Integer counts of ratings that add up over disjoint sets of items."""
