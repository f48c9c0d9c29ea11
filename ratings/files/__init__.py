"""Uploads, media of items, Parquet files, and folders that machines share.

It may import ratings.services and the layers below.
"""
