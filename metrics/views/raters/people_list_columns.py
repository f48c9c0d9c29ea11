"""Columns of raters' results for a project's list of people (projects.selectors).

Read from stored results: number of ratings, agreement and seconds per item of the first question,
and the time of the last change in any question.
"""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import OuterRef, Subquery
from django.utils.translation import gettext as _

from metrics.models import RaterResult
from metrics.question_scale import QuestionScale, get_weighted_name
from metrics.results.headline.headline_trend import get_headline_weighting
from projects.models import Project, Rater
from projects.selectors import PeopleColumn, ProvidedColumns
from ratings.models import Rating


def build_columns(project: Project, raters: Collection[int]) -> ProvidedColumns:
    """Return the columns for these raters, in five queries whatever their number."""
    questions = list(project.questions.prefetch_related("categories"))
    if not questions:
        return ProvidedColumns([])
    question = questions[0]
    name = get_weighted_name(
        "vs_peers", get_headline_weighting(question, QuestionScale.for_question(question))
    )
    rater_results = RaterResult.objects.filter(question=question, rater__in=raters)
    rows = rater_results.values_list("rater_id", "n_ratings", "seconds", f"coefficients__{name}")
    n_ratings, seconds, agreement = {}, {}, {}
    for rater, n, median, kappa in rows:
        n_ratings[rater], seconds[rater], agreement[rater] = n, median, kappa
    # One index lookup for each rater, in one query.
    newest = Rating.objects.filter(rater=OuterRef("pk")).order_by("-changed_at")
    people = Rater.objects.filter(pk__in=raters)
    last_changes = dict(people.values_list("pk", Subquery(newest.values("changed_at")[:1])))
    for rater, last_change in last_changes.items():
        if last_change is None:
            agreement[rater] = {"value": None, "reason": "no_ratings"}
    columns = [
        PeopleColumn(_("Ratings"), "count", n_ratings),
        PeopleColumn(_("Kappa with peers"), "estimate", agreement, about="vs_peers"),
        PeopleColumn(_("Seconds per item"), "tenths", seconds, about="seconds"),
        PeopleColumn(_("Ratings last changed"), "moment", last_changes),
    ]
    if len(questions) == 1:
        return ProvidedColumns(columns)
    note = _("Ratings, kappa and seconds: question “%(question)s”")
    return ProvidedColumns(columns, note % {"question": question})
