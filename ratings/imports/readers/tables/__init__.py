"""Readers of tables: CSV, Excel, Parquet and JSON."""
