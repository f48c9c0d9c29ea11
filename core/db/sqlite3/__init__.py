"""The SQLite backend: Django's, with the locks and settings that Concord needs."""
