"""The creation of API tokens."""
