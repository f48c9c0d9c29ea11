"""Sources of a page's results: stored ones, or those of a filter (`get_sources`)."""

from metrics.views.common.selection import Selection

from .base import QuestionSources
from .filtered import FilteredSources
from .stored import StoredSources

__all__ = ["QuestionSources", "get_sources"]


def get_sources(selection: Selection) -> QuestionSources:
    """Return the sources of the selected question, filtered if the selection has a filter."""
    return FilteredSources(selection) if selection.filter else StoredSources(selection)
