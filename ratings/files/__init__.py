"""Uploads, media of items, Parquet files, and folders that machines share.

It may import the layers from ratings.services down.
"""
