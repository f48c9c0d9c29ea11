"""Models of ratings, assignments, exams, imports, exports and messages to raters.

It may import the layers from ratings.label_normalization down.
"""

from .assignment import Assignment, CheckAnswer, RaterMessage, RaterQueue
from .exam import Exam, ExamRules
from .export_run import ExportRun
from .import_run import DataFolder, ImportFilePart, ImportRun, TimezoneBackfill
from .label_studio import LabelStudioConnection, LabelStudioObject
from .rating import NO_CODE, JudgementBase, Rating, Revision, UncountedItem

__all__ = [
    "NO_CODE",
    "Assignment",
    "CheckAnswer",
    "DataFolder",
    "Exam",
    "ExamRules",
    "ExportRun",
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
