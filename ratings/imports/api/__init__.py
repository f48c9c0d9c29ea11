"""Import of files by the API."""
