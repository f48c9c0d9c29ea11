"""What the list of people (projects.selectors.people_list) tells of those who rate, from what is
stored: of the project's first question how many ratings, how far they agree and how long an item
takes; of all questions when they rated last."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import OuterRef, Subquery
from django.utils.translation import gettext as _

from metrics.models import RaterReading
from metrics.results.headline.stored_weights import weights_of
from metrics.scale import QuestionScale, weighted
from projects.models import Project, Rater
from projects.selectors.people_list import Column, Told
from ratings.models import Rating


def of(project: Project, raters: Collection[int]) -> Told:
    """Five queries, whoever and however many they are; nothing of nobody."""
    questions = list(project.questions.prefetch_related("categories"))
    if not questions:
        return Told([])
    question = questions[0]
    name = weighted("vs_peers", weights_of(question, QuestionScale.of(question)))
    readings = RaterReading.objects.filter(question=question, rater__in=raters)
    rows = readings.values_list("rater_id", "n_ratings", "seconds", f"coefficients__{name}")
    n_ratings, seconds, kappas = {}, {}, {}
    for rater, n, median, kappa in rows:
        n_ratings[rater], seconds[rater], kappas[rater] = n, median, kappa
    # One look into an index a rater, in one query.
    newest = Rating.objects.filter(rater=OuterRef("pk")).order_by("-changed_at")
    people = Rater.objects.filter(pk__in=raters)
    last = people.values_list("pk", Subquery(newest.values("changed_at")[:1]))
    columns = [
        Column(_("Ratings"), "whole", n_ratings),
        Column(_("Kappa with peers"), "reading", kappas, about="vs_peers"),
        Column(_("Seconds per item"), "tenths", seconds, about="seconds"),
        Column(_("Ratings last changed"), "moment", dict(last)),
    ]
    if len(questions) == 1:
        return Told(columns)
    note = _("Ratings, kappa and seconds are of the first question: %(question)s")
    return Told(columns, note % {"question": question})
