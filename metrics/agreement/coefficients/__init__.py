"""Coefficients of agreement, a family a module, each with its formula, source and declaration.

It may import metrics.agreement.bootstrap, metrics.agreement.counts, metrics.agreement.validation
and the layers below.
"""
