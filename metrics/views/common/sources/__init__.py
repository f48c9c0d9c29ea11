"""The numbers of a page, of all ratings or of some: `source_of` picks, and nobody asks again."""

from metrics.views.common.selection import Selection

from .base import Source
from .filtered import Sliced
from .stored import Stored

__all__ = ["Source", "source_of"]


def source_of(chosen: Selection) -> Source:
    return Sliced(chosen) if chosen.filter else Stored(chosen)
