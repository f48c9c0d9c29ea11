"""Coefficients of agreement, a family a module, each with its formula, source and declaration."""
