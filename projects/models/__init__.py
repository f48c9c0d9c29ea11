"""What is judged, and by whom."""

from .item import Item
from .member import ApiToken, Member
from .project import GuidelineVersion, Project, QueueOrder
from .question import Category, Question, Scale, Weights
from .rater import Rater

__all__ = [
    "ApiToken",
    "Category",
    "GuidelineVersion",
    "Item",
    "Member",
    "Project",
    "Question",
    "QueueOrder",
    "Rater",
    "Scale",
    "Weights",
]
