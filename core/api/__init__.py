"""Base of API views: parsers, parameters, pagination, errors, schema, strict fields.

It may import the layers from core.jobs down.
"""
