"""Base of API views: parsers, parameters, pagination, errors, schema, strict fields.

It may import core.jobs and the layers below.
"""
