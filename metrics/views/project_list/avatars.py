"""Avatars of the people who rate in projects."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db.models import Count, F, Window
from django.db.models.functions import RowNumber

from projects.models import Project, Rater
from projects.services.members.usernames import get_initials

MAX_AVATARS = 4  # of a project; the number of further people is shown
AVATAR_COLOURS = 6  # CSS classes .person--0 to .person--5


@dataclass(frozen=True)
class Avatar:
    """A person as two letters, in the same colour everywhere."""

    name: str

    @property
    def letters(self) -> str:
        return get_initials(self.name)

    @property
    def colour(self) -> int:
        return zlib.crc32(self.name.encode()) % AVATAR_COLOURS


@dataclass(frozen=True)
class AvatarGroup:
    """The first people who rate in a project, and their number in all."""

    avatars: list[Avatar] = field(default_factory=list)
    n_people: int = 0

    @property
    def n_more(self) -> int:
        return self.n_people - len(self.avatars)


def get_avatars(projects: Sequence[Project]) -> dict[int, AvatarGroup]:
    """Return {project id: avatars of the people who rate in it}; one query."""
    raters = Rater.objects.filter(project__in=projects, kind=Rater.Kind.HUMAN)
    position = Window(RowNumber(), partition_by=F("project"), order_by="key")
    number = Window(Count("pk"), partition_by=F("project"))
    first = raters.annotate(position=position, number=number).filter(position__lte=MAX_AVATARS)
    avatar_groups: dict[int, AvatarGroup] = {}
    for project, name, key, n in first.order_by("project", "key").values_list(
        "project", "name", "key", "number"
    ):
        avatar_groups.setdefault(project, AvatarGroup(n_people=n)).avatars.append(
            Avatar(name or key)
        )
    return avatar_groups
