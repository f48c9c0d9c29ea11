"""Models of ratings, assignments, exams, imports and messages to raters."""

from .assignment import Assignment, RaterQueue
from .check_answer import CheckAnswer
from .data_folder import DataFolder, ImportFilePart
from .exam import Exam, ExamRules
from .import_run import ImportRun
from .judgement_base import JudgementBase
from .label_studio import LabelStudioConnection, LabelStudioObject
from .rater_message import RaterMessage
from .rating import NO_CODE, Rating, Revision, UncountedItem
from .timezone_backfill import TimezoneBackfill

__all__ = [
    "NO_CODE",
    "Assignment",
    "CheckAnswer",
    "DataFolder",
    "Exam",
    "ExamRules",
    "ImportFilePart",
    "ImportRun",
    "JudgementBase",
    "LabelStudioConnection",
    "LabelStudioObject",
    "RaterMessage",
    "RaterQueue",
    "Rating",
    "Revision",
    "TimezoneBackfill",
    "UncountedItem",
]
