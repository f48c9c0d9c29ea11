"""What the address of a results page asks for: question, weights, period, coefficient. Unknown ones
are not found."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, QueryDict
from django.utils.translation import gettext as _

from metrics import periods
from metrics.filters import Filter
from metrics.scale import QuestionScale, headlines, weighted
from projects.models import Item, Project, Question, Rater

Named = TypeVar("Named", Item, Rater)


@dataclass(frozen=True)
class Selection:
    project: Project
    questions: list[Question]
    question: Question
    scale: QuestionScale
    weights: str
    period: str | None
    coefficient: str
    filter: Filter = field(default_factory=Filter)

    @property
    def query(self) -> str:
        """The question and the filter as a query of an address."""
        return urlencode({"question": self.question.key, **self.filter.parameters})

    @property
    def weightings(self) -> list[str]:
        """The weightings that this question knows."""
        return self.scale.weighting_names()

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
        raise Http404(_("No such question."))
    scale = QuestionScale.of(question)
    allowed = scale.weighting_names()
    weights = one_of(request.GET, "weights", allowed) or question.weights
    return Selection(
        project=project,
        questions=questions,
        question=question,
        scale=scale,
        weights=weights if weights in allowed else "none",
        period=one_of(request.GET, "period", periods.SPANS),
        coefficient=one_of(request.GET, "coefficient", headlines(scale)) or "fleiss_kappa",
        filter=Filter.of(request.GET) if filtered else Filter(),
    )


def one_of(given: QueryDict, name: str, allowed: Collection[str]) -> str | None:
    """The value of a parameter, None when it is absent or empty. Raises Http404 when it is not one
    of ``allowed``."""
    value = given.get(name) or None
    if value is not None and value not in allowed:
        raise Http404(
            _("%(name)s is one of %(allowed)s.") % {"name": name, "allowed": ", ".join(allowed)}
        )
    return value


def by_key(model: type[Named], project: Project, key: str) -> Named:
    """The project's item or rater of this key, or Http404; PostgreSQL refuses a NUL and is never
    asked for one."""
    found = None if "\0" in key else model._default_manager.filter(project=project, key=key).first()
    if found is None:
        raise Http404(_("There is nothing of this name."))
    return found


def page_number(request: HttpRequest) -> int:
    """The number of the page asked for, from 1. Raises Http404 for what is not a page number."""
    text = request.GET.get("page") or "1"
    if not (text.isascii() and text.isdigit() and len(text) <= 6 and int(text) >= 1):
        raise Http404(_("No such page."))
    return int(text)
