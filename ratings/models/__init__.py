"""The judgements."""

from .apart import Apart
from .day_move import DayMove
from .desk import Assignment, Desk
from .exam import Exam, ExamRules
from .import_run import ImportRun
from .judged import Judged
from .rater_message import RaterMessage
from .rating import NOTHING, Rating, Revision, UncountedItem

__all__ = [
    "NOTHING",
    "Apart",
    "Assignment",
    "DayMove",
    "Desk",
    "Exam",
    "ExamRules",
    "ImportRun",
    "Judged",
    "RaterMessage",
    "Rating",
    "Revision",
    "UncountedItem",
]
