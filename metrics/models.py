"""The stored counts, and the coefficients read off them.

Counts are exact integers and the only input of every reading. Blobs are little-endian integer arrays in C order, their
columns by category *code* (so that re-ordering or adding categories moves nothing); ``width`` is the number of codes.
Patterns are int64; tables and moments have as many bytes a cell as their length says (stores.compact_blobs).
"""

from __future__ import annotations

import datetime

from django.db import models
from django.db.models import F, Q, Value
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, NullIf
from django.utils.translation import gettext_lazy as _

from projects.models import Question, Rater

EVER = -(2**31)  # the day of the rows that hold all days together


def number_at(path: str) -> Cast:
    """A number within a JSON column, as ``column__key__key``, to filter and sort by; NULL where it is null.

    Of a null Django makes the text "null" on SQLite, which would become 0.
    """
    return Cast(NullIf(KT(path), Value("null")), models.FloatField())


class CountState(models.Model):
    """One row a question: its lock, and how far counting is. Locked (FOR UPDATE) by whoever counts."""

    question = models.OneToOneField(Question, models.CASCADE, primary_key=True, related_name="count_state")
    # Rises with every counting that moved something; pages compare it to know whether to refresh.
    version = models.PositiveBigIntegerField(default=0)
    counted_at = models.DateTimeField(null=True, blank=True)
    ratings = models.PositiveBigIntegerField(default=0)
    # Changes that are counted but not yet in the readings. Pages add them to the uncounted ratings: what they say is
    # not in the numbers is exactly what is not.
    unread = models.PositiveBigIntegerField(default=0)
    # Weighting -> [sum of the pairs' kappas in units of 2^-60, number of pairs that have one]: integers, so that adding
    # and taking away leaves exactly what a sum from nothing gives, whatever the number of pairs.
    pair_sums = models.JSONField(default=dict)
    # Cumulative readings of the periods from this day on are still to be made (readings.finish).
    cumulative_from = models.IntegerField(null=True, blank=True)
    # A backlog is being counted in shares (metrics.counting.backlog): the items after backlog_from, up to backlog_to,
    # are not given out yet. Null: there is none.
    backlog_from = models.BigIntegerField(null=True, blank=True)
    backlog_to = models.BigIntegerField(default=0)
    # Ratings that were uncounted when it began, and how many of them are counted: for people who wait, not a bound.
    backlog_total = models.PositiveBigIntegerField(default=0)
    backlog_done = models.PositiveBigIntegerField(default=0)
    # When the readings were last brought up to the counts, or a backlog began.
    read_at = models.DateTimeField(null=True, blank=True)
    # Name -> {"low", "high", "bootstrap"} of coefficients without a standard error, and the version they belong to.
    bootstrap = models.JSONField(default=dict, blank=True)
    bootstrapped = models.PositiveBigIntegerField(default=0)
    # The Question.scale_version for which the readings were made; when it lags, all of them are made anew.
    scale_version = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"question {self.question_id}: version {self.version}"


class Share(models.Model):
    """A range of a question's items that one worker is counting. While the row stands with the worker's lease, nobody
    else has counted any item of the range since the lease was taken (metrics.counting.backlog)."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="+")
    first = models.BigIntegerField()
    last = models.BigIntegerField()
    lease = models.CharField(max_length=32)
    # After this time the worker counts as gone, and another one takes the share over with a lease of its own.
    leased_until = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["question", "first"], name="share_unique")]

    def __str__(self) -> str:
        return f"question {self.question_id}: items {self.first} to {self.last}"


class PatternTally(models.Model):
    """How many items have which vector of category counts: on one day (that of the item's latest rating), or ever."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    day = models.IntegerField()
    width = models.PositiveSmallIntegerField()
    # (n_patterns, width + 1): the counts of each category, then the number of items.
    patterns = models.BinaryField()
    stale = models.BooleanField(default=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["question", "day"], name="pattern_tally_unique")]
        indexes = [models.Index(fields=["question", "day"], condition=Q(stale=True), name="pattern_tally_stale")]


class PairTally(models.Model):
    """The width x width table of two raters' ratings of the same items (rows: rater_a), and its kappas."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    rater_a = models.ForeignKey(Rater, models.CASCADE, related_name="+", db_index=False)
    rater_b = models.ForeignKey(Rater, models.CASCADE, related_name="+", db_index=False)
    width = models.PositiveSmallIntegerField()
    table = models.BinaryField()
    n_items = models.PositiveIntegerField()
    # Cohen's kappa under each weighting; null where undefined. Always of this very table.
    kappa_none = models.FloatField(null=True)
    kappa_linear = models.FloatField(null=True)
    kappa_quadratic = models.FloatField(null=True)
    kappa_custom = models.FloatField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["question", "rater_a", "rater_b"], name="pair_tally_unique"),
            models.CheckConstraint(condition=Q(rater_a__lt=F("rater_b")), name="pair_tally_ordered"),
        ]
        indexes = [
            models.Index(fields=["question", "rater_b"], name="pair_tally_by_b"),
            # The list of pairs and a rater's: those with the most items in common (pairs.listed).
            models.Index(fields=["question", "-n_items", "rater_a", "rater_b"], name="pair_tally_by_items"),
        ]


class PeerTally(models.Model):
    """One rater's ratings of one day (their own ``rated_at``), or ever, against all other ratings of the same items."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="+", db_index=False)
    day = models.IntegerField()
    width = models.PositiveSmallIntegerField()
    # (width, width) own x others, then (width, width, width) second moments for the interval (agreement.tally).
    table = models.BinaryField()
    moments = models.BinaryField()
    n_items = models.PositiveIntegerField()
    # All own ratings of that day, also on items nobody else rated.
    n_ratings = models.PositiveIntegerField()
    stale = models.BooleanField(default=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["question", "rater", "day"], name="peer_tally_unique")]
        indexes = [models.Index(fields=["question", "rater", "day"], condition=Q(stale=True), name="peer_tally_stale")]


class Span(models.TextChoices):
    ALL = "all", _("all")
    DAY = "day", _("day")
    WEEK = "week", _("week")
    MONTH = "month", _("month")


ALL_START = datetime.date(1970, 1, 1)


class Reading(models.Model):
    """The project's coefficients over one period. ``coefficients`` maps a name to a READING (docs/api.md)."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="readings", db_index=False)
    span = models.CharField(max_length=5, choices=Span.choices)
    start = models.DateField(default=ALL_START)
    coefficients = models.JSONField(default=dict)
    # The same names, on all items up to the period's end.
    cumulative = models.JSONField(default=dict)
    # Counts of items by number of ratings, per-category kappas and the like: whatever is not one coefficient.
    details = models.JSONField(default=dict)
    computed_at = models.DateTimeField()

    class Meta:
        ordering = ["start"]
        constraints = [
            models.UniqueConstraint(fields=["question", "span", "start"], name="reading_unique"),
            models.CheckConstraint(condition=Q(span__in=Span.values), name="reading_span_known"),
        ]


class RaterReading(models.Model):
    """One rater's agreement with peers over one period (by the rater's own ``rated_at``), in the same shape."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="rater_readings", db_index=False)
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="readings")
    span = models.CharField(max_length=5, choices=Span.choices)
    start = models.DateField(default=ALL_START)
    n_ratings = models.PositiveIntegerField()
    coefficients = models.JSONField(default=dict)
    details = models.JSONField(default=dict)
    # Of the whole time alone: the median seconds of the newest timed ratings (rater_readings.TIMED); null: not known.
    seconds = models.FloatField(null=True, blank=True)
    computed_at = models.DateTimeField()

    class Meta:
        ordering = ["start"]
        constraints = [
            # (question, span, ...) first: the rater table reads all raters' "all" rows.
            models.UniqueConstraint(fields=["question", "span", "rater", "start"], name="rater_reading_unique"),
            # Single days are not stored (rater_readings.of_days).
            models.CheckConstraint(condition=Q(span__in=["all", "week", "month"]), name="rater_reading_span_known"),
        ]


class Attribution(models.Model):
    """What explains the move of Fleiss' kappa between two periods. ``waiting``: a worker is still to compute it."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="attributions", db_index=False)
    span = models.CharField(max_length=5, choices=Span.choices)
    start_from = models.DateField()
    start_to = models.DateField()
    weights = models.CharField(max_length=10)
    waiting = models.BooleanField(default=True)
    asked_at = models.DateTimeField()
    # The CountState.version whose counts the result rests on, or an older one when counting went on meanwhile.
    version = models.PositiveBigIntegerField(default=0)
    result = models.JSONField(null=True, blank=True)
    computed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["question", "span", "start_from", "start_to", "weights"], name="attribution_unique"
            ),
            models.CheckConstraint(condition=Q(span__in=["week", "month"]), name="attribution_span_known"),
            models.CheckConstraint(condition=Q(waiting=True) | Q(result__isnull=False), name="attribution_has_result"),
        ]
        indexes = [models.Index(fields=["asked_at"], condition=Q(waiting=True), name="attribution_waiting")]

    def __str__(self) -> str:
        return f"question {self.question_id}: {self.span} {self.start_from} to {self.start_to}, {self.weights}"


class Slice(models.Model):
    """What a page shows that the stored counts do not hold: of some ratings alone, or of two raters day by day.

    Asked for by a page, computed by a worker from the ratings, kept while somebody asks (metrics.on_request.slices).
    """

    class Kind(models.TextChoices):
        CHOICES = "choices", _("choices")  # what one can filter by
        DASHBOARD = "dashboard", _("dashboard")
        RATER = "rater", _("rater")
        PAIR = "pair", _("pair")

    question = models.ForeignKey(Question, models.CASCADE, related_name="slices", db_index=False)
    kind = models.CharField(max_length=9, choices=Kind.choices)
    key = models.CharField(max_length=64)  # SHA-256 of format, kind and spec (slices.Wanted)
    spec = models.JSONField()  # the filter (filters.Filter.spec) and the raters
    waiting = models.BooleanField(default=True)
    asked_at = models.DateTimeField()
    claimed_at = models.DateTimeField(null=True, blank=True)  # by the worker that computes it now
    # What the body rests on, or older when counting went on meanwhile: CountState.version, Project.catalogue_version.
    version = models.PositiveBigIntegerField(default=0)
    catalogue = models.PositiveBigIntegerField(default=0)
    body = models.JSONField(null=True, blank=True)
    computed_at = models.DateTimeField(null=True, blank=True)
    rests_until = models.DateTimeField(null=True, blank=True)  # not computed again before

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["question", "key"], name="slice_unique"),
            models.CheckConstraint(
                condition=Q(kind__in=["choices", "dashboard", "rater", "pair"]), name="slice_kind_known"
            ),
            models.CheckConstraint(condition=Q(waiting=True) | Q(body__isnull=False), name="slice_has_body"),
        ]
        indexes = [models.Index(fields=["asked_at"], condition=Q(waiting=True), name="slice_waiting")]

    def __str__(self) -> str:
        return f"question {self.question_id}: {self.kind} {self.spec}"


class Worker(models.Model):
    """A process that sweeps, as it last said of itself. For people who look after the site; nothing depends on it."""

    name = models.CharField(max_length=200, unique=True)  # host:process id
    swept_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name}: {self.swept_at:%Y-%m-%d %H:%M:%S}"


class AuditResult(models.Model):
    """What the workers' last audit of a question found (metrics.auditing.schedule). For people who look after the
    site."""

    question = models.OneToOneField(Question, models.CASCADE, primary_key=True, related_name="+")
    audited_at = models.DateTimeField()
    # Ratings that were counted again: all of the question, or those of a sample.
    ratings = models.PositiveBigIntegerField()
    differences = models.PositiveIntegerField()
    shown = models.JSONField(default=list, blank=True)  # the first of them

    def __str__(self) -> str:
        return f"question {self.question_id}: {self.differences} differences"
