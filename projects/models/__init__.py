"""What is judged, and by whom."""

from .content import has_content
from .deletion import Deletion
from .identity import RaterIdentity
from .item import ASKED, WAITING, WITHDRAWN, GoldAnswer, Item, ItemVersion
from .member import ApiToken, Member
from .offer import MemberOffer
from .project import BandScheme, GuidelineVersion, Project, QueueOrder
from .question import Category, Question, Scale, Weights
from .rater import KindVersion, Rater
from .scale_version import ScaleVersion

__all__ = [
    "ASKED",
    "WAITING",
    "WITHDRAWN",
    "ApiToken",
    "BandScheme",
    "Category",
    "Deletion",
    "GoldAnswer",
    "GuidelineVersion",
    "Item",
    "ItemVersion",
    "KindVersion",
    "Member",
    "MemberOffer",
    "Project",
    "Question",
    "QueueOrder",
    "Rater",
    "RaterIdentity",
    "Scale",
    "ScaleVersion",
    "Weights",
    "has_content",
]
