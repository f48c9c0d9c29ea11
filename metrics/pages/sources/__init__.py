"""The numbers of a page, of all ratings or of some: `source_of` picks, and nobody asks again."""

from metrics.pages.selection import Selection

from .sliced import Sliced
from .source import Source
from .stored import Stored

__all__ = ["Source", "source_of"]


def source_of(chosen: Selection) -> Source:
    return Sliced(chosen) if chosen.filter else Stored(chosen)
