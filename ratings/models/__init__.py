"""The judgements."""

from .day_move import DayMove
from .desk import Assignment, Desk
from .import_run import ImportRun
from .rating import NOTHING, Rating, Revision, UncountedItem

__all__ = [
    "NOTHING",
    "Assignment",
    "DayMove",
    "Desk",
    "ImportRun",
    "Rating",
    "Revision",
    "UncountedItem",
]
