"""Models of projects, members, items, questions and raters.

It may import the layers from projects.hidden_names down.
"""

from .approval import Approval
from .idempotent_response import IdempotentResponse
from .item import AVAILABLE, WITHDRAWN, WITHOUT_CONTENT, GoldAnswer, Item, ItemVersion, has_content
from .member import ApiToken, Member, MemberOffer
from .project import BandScheme, Deletion, GuidelineVersion, Project, QueueOrder
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
