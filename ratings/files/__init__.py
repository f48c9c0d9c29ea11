"""Uploads, media of items, Parquet files, and folders shared by several hosts.

It may import the layers from ratings.services down.
"""
