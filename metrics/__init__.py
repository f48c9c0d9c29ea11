"""Agreement: formulas, counting, results, and their pages and API.

It may import the layers from ratings down.
"""
