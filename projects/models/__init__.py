"""Models of projects, members, items, questions and raters.

It imports no other module of projects.
"""

from .item import AVAILABLE, WITHDRAWN, WITHOUT_CONTENT, GoldAnswer, Item, ItemVersion, has_content
from .member import ApiToken, IdempotentResponse, Member, MemberOffer
from .project import Approval, BandScheme, Deletion, GuidelineVersion, Project, QueueOrder
from .question import Category, Question, Scale, ScaleVersion, Weights
from .rater import Rater, RaterIdentity, RaterKindVersion

__all__ = [
    "AVAILABLE",
    "WITHDRAWN",
    "WITHOUT_CONTENT",
    "ApiToken",
    "Approval",
    "BandScheme",
    "Category",
    "Deletion",
    "GoldAnswer",
    "GuidelineVersion",
    "IdempotentResponse",
    "Item",
    "ItemVersion",
    "Member",
    "MemberOffer",
    "Project",
    "Question",
    "QueueOrder",
    "Rater",
    "RaterIdentity",
    "RaterKindVersion",
    "Scale",
    "ScaleVersion",
    "Weights",
    "has_content",
]
