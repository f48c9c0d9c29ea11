"""Inputs of a gate's verdict, as they were at one moment.

Ratings, kinds of raters, scale, gold answers, decisions and alerts are those of the moment, from
their histories. Groups of raters, attributes of items, the project's overlap and the method of
labels have no history: those of today count.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from functools import cached_property
from zoneinfo import ZoneInfo

import numpy as np
from django.db.models import OuterRef, Q, Subquery

from metrics.filters import NO_FILTER, RatingFilter
from metrics.question_scale import QuestionScale
from metrics.rating_history import ROW, HistoricalRatings, get_ratings_at
from metrics.reports import AgreementFacts, compute_agreement_facts, convert_codes
from projects.models import AVAILABLE, Item, Question, Rater, ScaleVersion
from quality.consensus import fit
from quality.gold import answers, suspected_answers
from quality.models import Alert, AlertState, AlertStep, Consensus
from ratings.models import Assignment, CheckAnswer
from ratings.services.rating_timestamps import day_number


@dataclass(frozen=True)
class ItemCoverage:
    """The numbers of items, of those with enough ratings, and of the ratings of all items."""

    n_items: int
    n_covered: int
    n_ratings: int


class GateInputs:
    """The inputs of a question's gates at a moment; each is loaded when a rule first needs it."""

    def __init__(self, question: Question, moment: datetime.datetime) -> None:
        self.question, self.moment = question, moment
        self.project = question.project
        self.scale_version, declared = ScaleVersion.get_version_at(question, moment)
        self.scale = QuestionScale.from_declaration(declared)
        self._ratings: dict[RatingFilter, HistoricalRatings] = {}
        self._agreement: dict[RatingFilter, AgreementFacts | None] = {}

    def get_ratings(self, rating_filter: RatingFilter) -> HistoricalRatings:
        """Return the ratings that the filter selects, sorted by item and rater."""
        if rating_filter not in self._ratings:
            ratings = get_ratings_at(self.question, self.moment, rating_filter)
            order = np.lexsort((ratings.rows["rater"], ratings.rows["item"]))
            self._ratings[rating_filter] = HistoricalRatings(
                ratings.rows[order], ratings.items, ratings.raters, ratings.models
            )
        return self._ratings[rating_filter]

    def select_people_or_model_ratings(
        self, rating_filter: RatingFilter, *, with_models: bool = False
    ) -> np.ndarray:
        """Return the selected ratings of people, or those of models if no person has rated.

        The result is an array (M,) of ROW, without ratings of undeclared categories.
        ``with_models``: include the ratings of people and of models.
        """
        ratings = self.get_ratings(rating_filter)
        rows = ratings.rows[self.scale.get_code_indices(ratings.rows["code"]) >= 0]
        is_model = np.isin(rows["rater"], list(ratings.models))
        return rows if with_models or is_model.all() else rows[~is_model]

    def get_agreement(self, rating_filter: RatingFilter) -> AgreementFacts | None:
        """Return the headline and coefficients of the selected ratings; None if there are none."""
        if rating_filter not in self._agreement:
            ratings = self.get_ratings(rating_filter)
            rows = convert_codes(ratings.rows, self.scale)
            is_model = np.isin(rows["rater"], list(ratings.models))
            self._agreement[rating_filter] = (
                compute_agreement_facts(
                    rows,
                    is_model,
                    self.scale,
                    self.project,
                    with_requested=bool(rating_filter.sample),
                )
                if len(rows)
                else None
            )
        return self._agreement[rating_filter]

    def fit_labels(self, rating_filter: RatingFilter) -> fit.ConsensusLabels:
        """Compute the labels of the items with selected ratings, by the question's method."""
        consensus = Consensus.objects.filter(question=self.question).first() or Consensus()
        rows = self.select_people_or_model_ratings(rating_filter, with_models=consensus.with_models)
        columns = np.zeros(len(rows), fit.VOTE_DTYPE)
        for name in ("item", "rater", "code"):
            columns[name] = rows[name]
        fixed = self._fixed_codes
        labels = fit.fit_labels(columns, self.scale, fixed, method=consensus.method)
        if labels.confidence is not None:
            labels.confidence[np.isin(labels.item, list(fixed.codes))] = 1.0
        return labels

    @cached_property
    def _fixed_codes(self) -> fit.FixedCodes:
        return fit.get_fixed_codes(self.question, moment=self.moment)

    def list_gold_responses(self, rating_filter: RatingFilter) -> list[tuple[int, bool]]:
        """Return (item id, whether it is right) of the selected answers to items with gold.

        Answers of people; of models if no person answered. Suspected gold and answers in exams are
        left out.
        """
        gold = self._gold
        excluded = self._suspected_items
        responses = [
            response
            for response in self._build_responses(rating_filter)
            if gold[response.item].right and response.item not in excluded and not response.is_exam
        ]
        people = [response for response in responses if response.is_human]
        return [
            (response.item, response.code in gold[response.item].right)
            for response in people or responses
        ]

    @cached_property
    def _gold(self) -> dict[int, answers.CurrentGold]:
        return answers.get_current_gold(self.question, self.scale, moment=self.moment)

    @cached_property
    def _suspected_items(self) -> set[int]:
        items = suspected_answers.build_gold_items(
            self._gold,
            self._build_responses(NO_FILTER),
            self.scale,
            question_id=self.question.pk,
            pass_mark=0.5,  # does not decide what is suspected
            passed_exam_answers=answers.get_passed_exam_answers(self.question, moment=self.moment),
        )
        return {item.item_id for item in items if item.suspected}

    def _build_responses(self, rating_filter: RatingFilter) -> list[answers.GoldResponse]:
        """Return the selected answers to items with gold, one for each rater and item.

        A check answer replaces a rating.
        """
        ratings = self.get_ratings(rating_filter)
        zone = ZoneInfo(self.project.time_zone)
        of_pair: dict[tuple[int, int], answers.GoldResponse] = {}
        checks = self.get_check_answers(rating_filter)
        is_gold = np.isin(ratings.rows["item"], list(self._gold))
        for is_check, rows, models in (
            (True, checks.rows, checks.models),
            (False, ratings.rows[is_gold], ratings.models),
        ):
            codes = self.scale.get_code_indices(rows["code"])
            for row, code in zip(rows.tolist(), codes.tolist(), strict=True):
                item, rater, _code, rated = row
                if code < 0 or item not in self._gold:
                    continue
                at = datetime.datetime.fromtimestamp(rated, tz=datetime.UTC)
                response = answers.GoldResponse(
                    item,
                    rater,
                    rater not in models,
                    code,
                    day_number(at, zone),
                    at,
                    is_check,
                    is_exam=is_check and (item, rater) in self._exam_answers,
                )
                of_pair.setdefault((item, rater), response)
        return sorted(of_pair.values(), key=lambda response: response.at)

    def get_check_answers(self, rating_filter: RatingFilter) -> HistoricalRatings:
        """Return the selected answers to hidden gold and in exams, in the form of ratings."""
        checks = rating_filter.filter_answers(
            CheckAnswer.objects.filter(pk__in=self._newest_checks, code__gte=0),
            ZoneInfo(self.project.time_zone),
        )
        values = checks.order_by("item_id", "rater_id").values_list(
            "item_id", "rater_id", "code", "rated_at"
        )
        rows = np.array([(*ints, rated_at.timestamp()) for *ints, rated_at in values], dtype=ROW)
        raters = {
            rater.pk: rater for rater in Rater.objects.filter(pk__in=np.unique(rows["rater"]))
        }
        models = {pk for pk, rater in raters.items() if rater.kind == Rater.Kind.MODEL}
        if rating_filter.kind:
            is_model = np.isin(rows["rater"], list(models))
            rows = rows[is_model == (rating_filter.kind == Rater.Kind.MODEL)]
        keys = Item.objects.filter(pk__in=np.unique(rows["item"]).tolist())
        return HistoricalRatings(rows, dict(keys.values_list("pk", "key")), raters, models)

    @cached_property
    def _newest_checks(self) -> list[int]:
        """Return the ids of the check answers that were current at ``self.moment``."""
        lines = CheckAnswer.objects.filter(
            question=self.question,
            kind__in=(Assignment.Kind.GOLD, Assignment.Kind.EXAM),
            changed_at__lte=self.moment,
        ).order_by("pk")
        newest = {
            (item, rater): pk for pk, item, rater in lines.values_list("pk", "item_id", "rater_id")
        }
        return list(newest.values())

    @cached_property
    def _exam_answers(self) -> set[tuple[int, int]]:
        exams = CheckAnswer.objects.filter(pk__in=self._newest_checks, kind=Assignment.Kind.EXAM)
        return set(exams.values_list("item_id", "rater_id"))

    def compute_coverage(self, rating_filter: RatingFilter) -> ItemCoverage:
        """Return how many items there were, and how many had enough of the selected ratings.

        Enough is the project's overlap of today.
        """
        not_withdrawn = Q(withdrawn_at__gt=self.moment, has_content=True)
        items = rating_filter.filter_items(
            Item.objects.filter(
                AVAILABLE | not_withdrawn, project=self.project, created_at__lte=self.moment
            )
        )
        available = np.fromiter(items.values_list("pk", flat=True), np.int64)
        rows = self.select_people_or_model_ratings(rating_filter)
        rows = rows[np.isin(rows["item"], available)]
        _items, n_ratings = np.unique(rows["item"], return_counts=True)
        n_covered = int((n_ratings >= self.project.overlap).sum())
        return ItemCoverage(len(available), n_covered, len(rows))

    def count_open_alerts(self) -> int:
        """Return how many alerts of the question were open at ``self.moment``."""
        steps = AlertStep.objects.filter(alert=OuterRef("pk"), at__lte=self.moment).order_by("-pk")
        alerts = Alert.objects.filter(question=self.question, created_at__lte=self.moment)
        alerts = alerts.annotate(last_state=Subquery(steps.values("state")[:1]))
        return alerts.filter(Q(last_state=None) | Q(last_state=AlertState.OPEN)).count()


def merge_ratings(parts: list[HistoricalRatings]) -> HistoricalRatings:
    """Return the ratings that any of the parts contains, each once."""
    if len(parts) == 1:
        return parts[0]
    rows = np.concatenate([part.rows for part in parts]) if parts else np.zeros(0, ROW)
    distinct = np.unique(rows[["item", "rater", "code"]], return_index=True)[1]
    merged = HistoricalRatings(rows[distinct], {}, {}, set())
    for part in parts:
        merged.items.update(part.items)
        merged.raters.update(part.raters)
        merged.models.update(part.models)
    return merged
