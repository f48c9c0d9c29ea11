"""Agreement: formulas, counting, results, and their pages and API.

It may import ratings and the layers below.
"""
