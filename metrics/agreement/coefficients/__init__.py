"""Coefficients of agreement, a family a module, each with its formula, source and declaration.

It may import the layers from metrics.agreement.bootstrap down.
"""
