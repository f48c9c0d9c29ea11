"""Uploads, media of items, Parquet files, and folders shared by several hosts."""
