"""Selection: question, weights, period, coefficient and filter from a page's URL.

Unknown values raise Http404.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, QueryDict
from django.utils.translation import gettext as _

from core.text import get_list_separator, parse_id
from metrics import periods
from metrics.agreement.weights import UNWEIGHTED, list_applicable_weightings
from metrics.filters import RatingFilter
from metrics.question_scale import QuestionScale, get_weighted_name, list_headline_coefficients
from metrics.results.headline.trends import get_headline
from projects.models import Item, Member, Project, Question, Rater
from projects.permissions import get_project

# Raters of a heat map: by default those with the most ratings, else those with the highest or the
# lowest agreement with the others.
HEAT_MAP_CHOICES = ("highest", "lowest")
MAX_SHOWN_KEY_LENGTH = 200  # characters of an unknown key in an error message


class UnknownSelectionError(Http404):
    """A value in the URL does not exist.

    The error page shows ``hint`` and links to the page with the URL name ``list_url_name``, which
    lists the existing values.
    """

    def __init__(self, hint: str, *, list_url_name: str = "") -> None:
        super().__init__(hint)
        self.hint = hint
        self.list_url_name = list_url_name


KeyedModel = TypeVar("KeyedModel", Item, Rater)


@dataclass(frozen=True)
class Selection:
    """The question of a results page and the options that its URL selects."""

    project: Project
    questions: list[Question]
    question: Question
    scale: QuestionScale
    requested_weights: str | None  # weighting named by the URL
    period: str | None
    requested_coefficient: str | None  # coefficient named by the URL
    filter: RatingFilter = field(default_factory=RatingFilter)
    heat_map_choice: str = ""  # raters of the heat map: one of HEAT_MAP_CHOICES

    @cached_property
    def headline(self) -> Mapping[str, Any]:
        """Return the headline of all ratings, as in Result.headline; a query at first access."""
        return get_headline(self.question, self.scale)

    @property
    def weights(self) -> str:
        """Return the requested weighting, or that of the headline."""
        if self.requested_weights:
            return self.requested_weights
        weights: str = self.headline["weights"]
        return weights if weights in self.weightings else UNWEIGHTED

    @property
    def coefficient(self) -> str:
        """Return the coefficient of the trend: the requested one, or else that of the headline.

        It is the headline itself if that has a trend, or its substitute. With a filter, the
        substitute also replaces a headline of two raters.
        """
        name: str = (
            self.requested_coefficient
            or self.headline["trend_coefficient" if self.filter else "displayed_coefficient"]
        )
        return name

    @property
    def table_class(self) -> str:
        """Return the CSS class of a table's chart, which depends on the number of categories."""
        return f"k{min(self.scale.k, 9)}"

    def select_ratings(self, rating_filter: RatingFilter) -> Selection:
        """Return the selection of the question's ratings under a filter, without other options."""
        return Selection(
            self.project, self.questions, self.question, self.scale,
            requested_weights=None, period=None, requested_coefficient=None, filter=rating_filter,
        )  # fmt: skip

    @property
    def query(self) -> str:
        """Return the question and the filter as a query string."""
        return urlencode({"question": self.question.key, **self.filter.parameters})

    @property
    def weightings(self) -> list[str]:
        """Return the weightings that suit the question's scale; those by rank need an order."""
        custom = self.scale.matrix is not None
        return list_applicable_weightings(ordered=self.ordered, custom=custom)

    @property
    def ordered(self) -> bool:
        """Return whether the categories are ordered; only then is there a bias."""
        return self.scale.type.ordered

    @property
    def vs_peers(self) -> str:
        """Return the name of a rater's agreement with peers under the selected weights."""
        return get_weighted_name("vs_peers", self.weights)


def find_selection(
    request: HttpRequest, project: Project, *, filtered: bool = False
) -> Selection | None:
    """Return the selection of a request, or None while the project has no question.

    ``filtered``: the page supports filters. Raises Http404 for values that do not exist, and
    BadRequest for an invalid filter.
    """
    questions = list(project.questions.prefetch_related("categories"))
    if not questions:
        return None
    key = request.GET.get("question")
    question = next((q for q in questions if q.key == key), None) if key else questions[0]
    if question is None:
        message = _("Question “%(key)s” not found.")
        raise UnknownSelectionError(
            message % {"key": str(key)[:MAX_SHOWN_KEY_LENGTH]}, list_url_name="questions"
        )
    scale = QuestionScale.for_question(question)
    allowed = scale.list_weightings()
    return Selection(
        project=project,
        questions=questions,
        question=question,
        scale=scale,
        requested_weights=get_choice(request.GET, "weights", allowed),
        period=get_choice(request.GET, "period", periods.SPANS),
        requested_coefficient=get_choice(
            request.GET, "coefficient", list_headline_coefficients(scale)
        ),
        filter=RatingFilter.from_query(request.GET) if filtered else RatingFilter(),
        heat_map_choice=get_choice(request.GET, "heat_map", HEAT_MAP_CHOICES) or "",
    )


def get_permitted_selection(
    request: HttpRequest, project_id: int, *, role: str = Member.Role.VIEWER, filtered: bool = False
) -> Selection:
    """Check the user's role in the project and return the selection of the request.

    Raises Http404 for unknown values, without permission, and while the project has no question.
    """
    return get_selection(
        request, get_project(request.user, project_id, role=role), filtered=filtered
    )


def get_selection(request: HttpRequest, project: Project, *, filtered: bool = False) -> Selection:
    """Return the selection of a request for a project that the user may see.

    Raises Http404 for unknown values and while the project has no question.
    """
    selection = find_selection(request, project, filtered=filtered)
    if selection is None:
        raise Http404(_("This project has no questions yet."))
    return selection


def get_choice(parameters: QueryDict, name: str, allowed: Collection[str]) -> str | None:
    """Return the value of a parameter, or None when it is absent or empty.

    Raises Http404 when the value is not one of ``allowed``.
    """
    value = parameters.get(name) or None
    if value is not None and value not in allowed:
        message = _("“%(name)s” must be one of %(allowed)s, not “%(value)s”.") % {
            "name": name,
            "value": value[:60],
            "allowed": get_list_separator().join(allowed),
        }
        raise UnknownSelectionError(message)
    return value


def get_by_key(model: type[KeyedModel], project: Project, key: str) -> KeyedModel:
    """Return the project's item or rater with this key.

    Raises UnknownSelectionError if there is none. A key that contains NUL is not looked up, because
    PostgreSQL rejects it.
    """
    instance = (
        None if "\0" in key else model._default_manager.filter(project=project, key=key).first()
    )
    if instance is None:
        if model is Item:
            message, list_url_name = _("Item “%(key)s” not found."), "items"
        else:
            message = _("Rater “%(key)s” not found.")
            list_url_name = "raters"
        raise UnknownSelectionError(
            message % {"key": key[:MAX_SHOWN_KEY_LENGTH]}, list_url_name=list_url_name
        )
    return instance


def get_after_id(parameters: QueryDict) -> int:
    """Return the id after which a list continues, 0 for its beginning.

    Raises Http404 for other text.
    """
    after_id = parse_id(parameters.get("after") or "0")
    if after_id is None:
        raise Http404(_("Page not found."))
    return after_id


def get_page_number(request: HttpRequest) -> int:
    """Return the requested page number, from 1. Raises Http404 when it is not a page number."""
    text = request.GET.get("page") or "1"
    if not (text.isascii() and text.isdigit() and len(text) <= 6 and int(text) >= 1):
        raise Http404(_("Page not found."))
    return int(text)
