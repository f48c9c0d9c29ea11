"""The scratch SQLite file that holds valid records until they are written."""
