"""Who rates in projects, as a few signs."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db.models import Count, F, Window
from django.db.models.functions import RowNumber

from projects.models import Project, Rater
from projects.services.members.usernames import initials

SIGNS = 4  # of a project; how many more there are is told
COLOURS = 6  # quiet ones (.person--0 to --5)


@dataclass(frozen=True)
class Person:
    """A person in two letters, everywhere in the same colour."""

    name: str

    @property
    def letters(self) -> str:
        return initials(self.name)

    @property
    def colour(self) -> int:
        return zlib.crc32(self.name.encode()) % COLOURS


@dataclass(frozen=True)
class People:
    """The first of the people who rate in a project, and how many there are."""

    first: list[Person] = field(default_factory=list)
    number: int = 0

    @property
    def more(self) -> int:
        return self.number - len(self.first)


def people_of(projects: Sequence[Project]) -> dict[int, People]:
    """Project -> its people, where it has any; one query."""
    raters = Rater.objects.filter(project__in=projects, kind=Rater.Kind.HUMAN)
    place = Window(RowNumber(), partition_by=F("project"), order_by="key")
    number = Window(Count("pk"), partition_by=F("project"))
    first = raters.annotate(place=place, number=number).filter(place__lte=SIGNS)
    found: dict[int, People] = {}
    for project, name, key, n in first.order_by("project", "key").values_list(
        "project", "name", "key", "number"
    ):
        found.setdefault(project, People(number=n)).first.append(Person(name or key))
    return found
