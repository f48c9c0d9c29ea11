"""Models of ratings, assignments, exams, imports and messages to raters."""

from .assignment import Assignment, Desk
from .check_answer import Apart
from .exam import Exam, ExamRules
from .import_run import ImportRun
from .judgement_base import Judged
from .rater_message import RaterMessage
from .rating import NO_CODE, Rating, Revision, UncountedItem
from .timezone_backfill import DayMove

__all__ = [
    "NO_CODE",
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
