"""The judgements."""

from .apart import Apart
from .day_move import DayMove
from .desk import Assignment, Desk
from .import_run import ImportRun
from .rating import NOTHING, Rating, Revision, UncountedItem

__all__ = [
    "NOTHING",
    "Apart",
    "Assignment",
    "DayMove",
    "Desk",
    "ImportRun",
    "Rating",
    "Revision",
    "UncountedItem",
]
