"""The judgements."""

from .apart import Apart
from .day_move import DayMove
from .desk import Assignment, Desk
from .exam import Exam, ExamRules
from .import_run import ImportRun
from .rating import NOTHING, Rating, Revision, UncountedItem
from .said import Said

__all__ = [
    "NOTHING",
    "Apart",
    "Assignment",
    "DayMove",
    "Desk",
    "Exam",
    "ExamRules",
    "ImportRun",
    "Rating",
    "Revision",
    "Said",
    "UncountedItem",
]
