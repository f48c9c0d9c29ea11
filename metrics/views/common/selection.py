"""What the address of a results page asks for: question, weights, period, coefficient. Unknown ones
are not found."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, QueryDict
from django.utils.translation import gettext as _

from metrics import periods
from metrics.agreement.weights import NONE, applicable
from metrics.filters import Filter
from metrics.results.headline.headline_trend import first_of
from metrics.scale import QuestionScale, headlines, weighted
from projects.models import Item, Member, Project, Question, Rater
from projects.permissions import get_project

# Raters of a heat map: those with the most ratings when nothing is said, or with the most or the
# least agreement with the others.
WHO = ("highest", "lowest")
KEY_TOLD = 200  # characters of a key that is not there


class Unknown(Http404):
    """What the address asks for is not among what there is; the page of the error says so, and
    leads to the page ``listed_at``, which lists what there is."""

    def __init__(self, hint: str, *, listed_at: str = "") -> None:
        super().__init__(hint)
        self.hint = hint
        self.listed_at = listed_at


Named = TypeVar("Named", Item, Rater)


@dataclass(frozen=True)
class Selection:
    project: Project
    questions: list[Question]
    question: Question
    scale: QuestionScale
    asked_weights: str | None  # those that the address names
    period: str | None
    asked: str | None  # the coefficient that the address names
    filter: Filter = field(default_factory=Filter)
    who: str = ""  # whom the heat map shows: one of WHO

    @cached_property
    def first(self) -> Mapping[str, Any]:
        """What is read first of all ratings (Reading.headline); a query, when it is asked for."""
        return first_of(self.question, self.scale)

    @property
    def weights(self) -> str:
        """Those asked for, or those that go with what is read first."""
        if self.asked_weights:
            return self.asked_weights
        found: str = self.first["weights"]
        return found if found in self.weightings else NONE

    @property
    def coefficient(self) -> str:
        """That of the trend: the one asked for, or the headline, or what stands for it over time;
        of some ratings the latter, where the headline is one of two raters."""
        found: str = self.asked or self.first["over_time" if self.filter else "shown"]
        return found

    @property
    def query(self) -> str:
        """The question and the filter as a query of an address."""
        return urlencode({"question": self.question.key, **self.filter.parameters})

    @property
    def weightings(self) -> list[str]:
        """The weightings that say something on this question's scale: by rank where it is
        ordered."""
        custom = self.scale.matrix is not None
        return applicable(ordered=self.ordered, custom=custom)

    @property
    def ordered(self) -> bool:
        """Whether "higher" and "lower" mean something: bias is shown only then."""
        return self.scale.type.ordered

    @property
    def vs_peers(self) -> str:
        return weighted("vs_peers", self.weights)


def select(request: HttpRequest, project: Project, *, filtered: bool = False) -> Selection | None:
    """The selection of a request; None when the project has no question yet. Raises Http404 for
    what is unknown.

    ``filtered``: the page can be narrowed to some ratings; BadRequest for a filter that cannot be.
    """
    questions = list(project.questions.prefetch_related("categories"))
    if not questions:
        return None
    key = request.GET.get("question")
    question = next((q for q in questions if q.key == key), None) if key else questions[0]
    if question is None:
        said = _("This project has no question with the key “%(key)s”.")
        raise Unknown(said % {"key": str(key)[:KEY_TOLD]}, listed_at="questions")
    scale = QuestionScale.of(question)
    allowed = scale.weighting_names()
    return Selection(
        project=project,
        questions=questions,
        question=question,
        scale=scale,
        asked_weights=one_of(request.GET, "weights", allowed),
        period=one_of(request.GET, "period", periods.SPANS),
        asked=one_of(request.GET, "coefficient", headlines(scale)),
        filter=Filter.of(request.GET) if filtered else Filter(),
        who=one_of(request.GET, "who", WHO) or "",
    )


def chosen_question(
    request: HttpRequest, project_id: int, *, role: str = Member.Role.VIEWER, filtered: bool = False
) -> Selection:
    """The project by the one door, and the selection of a request. Raises Http404 where there is no
    question yet, too."""
    return asked_question(
        request, get_project(request.user, project_id, role=role), filtered=filtered
    )


def asked_question(request: HttpRequest, project: Project, *, filtered: bool = False) -> Selection:
    """The selection of a request for a project that came through the door."""
    chosen = select(request, project, filtered=filtered)
    if chosen is None:
        raise Http404(_("This project has no question yet."))
    return chosen


def one_of(given: QueryDict, name: str, allowed: Collection[str]) -> str | None:
    """The value of a parameter, None when it is absent or empty. Raises Http404 when it is not one
    of ``allowed``."""
    value = given.get(name) or None
    if value is not None and value not in allowed:
        said = _("%(name)s is one of %(allowed)s.") % {"name": name, "allowed": ", ".join(allowed)}
        raise Unknown(said)
    return value


def by_key(model: type[Named], project: Project, key: str) -> Named:
    """The project's item or rater of this key, or Unknown; PostgreSQL refuses a NUL and is never
    asked for one."""
    found = None if "\0" in key else model._default_manager.filter(project=project, key=key).first()
    if found is None:
        if model is Item:
            said, listed_at = _("This project has no item with the key “%(key)s”."), "items"
        else:
            said, listed_at = _("This project has no rater with the key “%(key)s”."), "raters"
        raise Unknown(said % {"key": key[:KEY_TOLD]}, listed_at=listed_at)
    return found


def place_after(given: QueryDict) -> int:
    """The id behind which the list goes on, 0 for its beginning. Raises Http404 for another
    text."""
    text = given.get("after") or "0"
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise Http404(_("No such page."))
    return int(text)


def page_number(request: HttpRequest) -> int:
    """The number of the page asked for, from 1. Raises Http404 for what is not a page number."""
    text = request.GET.get("page") or "1"
    if not (text.isascii() and text.isdigit() and len(text) <= 6 and int(text) >= 1):
        raise Http404(_("No such page."))
    return int(text)
