"""The import of files."""
