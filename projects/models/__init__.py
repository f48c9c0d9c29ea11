"""Models of projects, members, items, questions and raters."""

from .approval import Approval
from .deletion import Deletion
from .has_content_field import has_content
from .idempotent_response import IdempotentResponse
from .item import AVAILABLE, WITHDRAWN, WITHOUT_CONTENT, GoldAnswer, Item, ItemVersion
from .member import ApiToken, Member
from .member_offer import MemberOffer
from .project import BandScheme, GuidelineVersion, Project, QueueOrder
from .question import Category, Question, Scale, Weights
from .rater import Rater, RaterKindVersion
from .rater_identity import RaterIdentity
from .scale_version import ScaleVersion

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
