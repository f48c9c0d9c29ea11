"""The API of items, raters and ratings, and of annotation with a custom form."""
