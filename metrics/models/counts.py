"""Models of the stored counts of a question, of the progress of counting, and of the workers."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from core.jobs.lease import Leased
from core.text import lower_first
from projects.models import Question, Rater

ALL_DAYS = -(2**31)  # the day of the rows that sum over all days


class CountState(models.Model):
    """The counting state of a question: one row, which is also the lock of its counts.

    Every process that counts locks it (FOR UPDATE).
    """

    question = models.OneToOneField(
        Question, models.CASCADE, primary_key=True, related_name="count_state"
    )
    # Rises whenever counting changes something; pages compare it to know whether to refresh.
    version = models.PositiveBigIntegerField(default=0)
    counted_at = models.DateTimeField(null=True, blank=True)
    ratings = models.PositiveBigIntegerField(default=0)
    # Changes that are counted but not yet in the results. Pages add them to the uncounted ratings,
    # so that the number of ratings shown as not yet included is exact.
    unrefreshed = models.PositiveBigIntegerField(default=0)
    # Ids of the raters counted as models, and whether models are counted separately from people
    # (metrics.counting.rater_kinds); the Project.items_and_raters_version for which this was
    # checked, and whether the question must be recounted.
    model_raters = models.JSONField(default=list, blank=True)
    separates_models = models.BooleanField(default=False)
    items_and_raters_version = models.PositiveBigIntegerField(default=0)
    needs_recount = models.BooleanField(default=False)
    # Numbers of raters with a counted rating. Models count as people while they are not separated.
    n_people = models.PositiveIntegerField(default=0)
    n_models = models.PositiveIntegerField(default=0)
    # Weighting -> [sum of the pairs' kappas in units of 2^-60, number of pairs that have one].
    # Integers, so that adding and subtracting gives exactly the sum computed from scratch, for any
    # number of pairs.
    pair_sums = models.JSONField(default=dict)
    # Cumulative results of the periods from this day on are still to be computed
    # (metrics.results.refresh.recompute_deferred_cumulative_results).
    cumulative_from = models.IntegerField(null=True, blank=True)
    # A backlog is counted in ranges of items (metrics.counting.backlog): the items after
    # backlog_from, up to backlog_to, are not assigned to a worker yet. Null: there is no backlog.
    backlog_from = models.BigIntegerField(null=True, blank=True)
    backlog_to = models.BigIntegerField(default=0)
    # Ratings that were uncounted when the backlog was opened, and how many of them are counted.
    # Shown as progress; not a bound.
    backlog_total = models.PositiveBigIntegerField(default=0)
    backlog_done = models.PositiveBigIntegerField(default=0)
    # When the results were last refreshed from the counts, or a backlog was opened.
    refreshed_at = models.DateTimeField(null=True, blank=True)
    # Name -> {"low", "high", "bootstrap"} of coefficients without a standard error;
    # `deferred_version` is the version that they are based on.
    bootstrap = models.JSONField(default=dict, blank=True)
    bootstrap_people = models.JSONField(default=dict, blank=True)  # of the people only
    # The mean pairwise kappas, weighted by shared items (results.pair_results).
    mean_pairwise_kappas = models.JSONField(default=dict, blank=True)
    deferred_version = models.PositiveBigIntegerField(default=0)
    # The headline based on the random sample only, where some items were selected because of
    # earlier ratings (results.headline.random_sample); empty where none was. When it is slow to
    # compute, it is not computed again before sample_paused_until and may be stale meanwhile.
    sample_headline = models.JSONField(default=dict, blank=True)
    sample_paused_until = models.DateTimeField(null=True, blank=True)
    sample_is_stale = models.BooleanField(default=False, db_default=False)
    # The design effects of clusters of items (results.intervals), computed with the sample's
    # headline; and the Project.items_and_raters_version that they are based on.
    cluster_effects = models.JSONField(default=dict, blank=True)
    cluster_version = models.PositiveBigIntegerField(null=True, blank=True)
    # The Question.scale_version that the results are based on; when it lags, all are recomputed.
    scale_version = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"question {self.question_id}: version {self.version}"

    @classmethod
    def get_version(cls, question_id: int) -> int:
        """Return the version of a question's counts; 0 while nothing has been counted."""
        versions = cls.objects.filter(pk=question_id).values_list("version", flat=True)
        return versions.first() or 0


class BacklogRange(Leased):
    """A range of a question's items that one worker has claimed for counting.

    While a worker holds the lease of the row, no other worker counts items of the range
    (metrics.counting.backlog).
    """

    question = models.ForeignKey(Question, models.CASCADE, related_name="+")
    first_item_id = models.BigIntegerField()
    last_item_id = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["question", "first_item_id"], name="backlog_range_unique"
            )
        ]

    def __str__(self) -> str:
        return f"question {self.question_id}: items {self.first_item_id} to {self.last_item_id}"


class Population(models.TextChoices):
    """The raters that are compared: with each other, or people with models."""

    ALL = "all", _("all raters")
    PEOPLE = "people", _("people")
    MODELS = "models", _("models")
    BETWEEN = "between", lower_first(_("People with models"))


class PatternTally(models.Model):
    """Number of items with each vector of category counts, for one day or all days.

    An item belongs to the day of its second rating by the population, from which on it can be
    compared, or of its only one. In the population "between" it belongs to the day on which both a
    person and a model have rated it. So later ratings move no item to another day, and ratings of
    models move none of the people's. The row of ALL_DAYS sums over all days.

    Where models are not separate, all rows are of the population "all".
    """

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    population = models.CharField(
        max_length=7, choices=Population.choices, default=Population.ALL, db_default=Population.ALL
    )
    day = models.IntegerField()
    width = models.PositiveSmallIntegerField()
    # Whether each row of patterns has separate counts: those of people, then those of models.
    separates_models = models.BooleanField(default=False)
    # (n_patterns, width + 1), or (n_patterns, 2 width + 1) with separate counts: the counts of each
    # category, then the number of items.
    patterns = models.BinaryField()
    stale = models.BooleanField(default=True)

    class Meta:
        verbose_name_plural = "pattern tallies"
        constraints = [
            models.UniqueConstraint(
                fields=["question", "day", "population"], name="pattern_tally_unique"
            ),
            models.CheckConstraint(
                condition=Q(population__in=Population.values),
                name="pattern_tally_population_valid",
            ),
        ]
        indexes = [
            models.Index(
                fields=["question", "day"], condition=Q(stale=True), name="pattern_tally_stale"
            )
        ]


class PairTally(models.Model):
    """The width x width table of two raters' ratings of the same items, and its kappas.

    rater_a is in rows. Each kappa has its 95 % interval.
    """

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    rater_a = models.ForeignKey(Rater, models.CASCADE, related_name="+", db_index=False)
    rater_b = models.ForeignKey(Rater, models.CASCADE, related_name="+", db_index=False)
    width = models.PositiveSmallIntegerField()
    table = models.BinaryField()
    n_items = models.PositiveIntegerField()
    # Cohen's kappa of this table under each weighting and the ends of its interval; null where
    # undefined.
    kappa_none = models.FloatField(null=True)
    low_none = models.FloatField(null=True)
    high_none = models.FloatField(null=True)
    kappa_linear = models.FloatField(null=True)
    low_linear = models.FloatField(null=True)
    high_linear = models.FloatField(null=True)
    kappa_quadratic = models.FloatField(null=True)
    low_quadratic = models.FloatField(null=True)
    high_quadratic = models.FloatField(null=True)
    kappa_custom = models.FloatField(null=True)
    low_custom = models.FloatField(null=True)
    high_custom = models.FloatField(null=True)

    class Meta:
        verbose_name_plural = "pair tallies"
        constraints = [
            models.UniqueConstraint(
                fields=["question", "rater_a", "rater_b"], name="pair_tally_unique"
            ),
            models.CheckConstraint(
                condition=Q(rater_a__lt=F("rater_b")), name="pair_tally_ordered"
            ),
        ]
        indexes = [
            models.Index(fields=["question", "rater_b"], name="pair_tally_by_b"),
            # The list of pairs, and a rater's pairs: most shared items first
            # (results.pair_results.list_pair_ids).
            models.Index(
                fields=["question", "-n_items", "rater_a", "rater_b"], name="pair_tally_by_items"
            ),
        ]


class PeerTally(models.Model):
    """A rater's ratings of one day, or of all days, against all other ratings of the same items.

    Table, moments and ``n_items`` of a day count the ratings that could first be compared on it
    (agreement.counts.tally.compute_comparison_days); ``n_ratings`` those given on it.
    """

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="+", db_index=False)
    day = models.IntegerField()
    width = models.PositiveSmallIntegerField()
    # (width, width) own category x the others', then (width, width, width) second moments for the
    # interval (agreement.counts.tally).
    table = models.BinaryField()
    moments = models.BinaryField()
    n_items = models.PositiveIntegerField()
    # All own ratings given on that day, also on items nobody else rated.
    n_ratings = models.PositiveIntegerField()
    # In the row of ALL_DAYS: the rater's result is stale. Single days have no stored result.
    stale = models.BooleanField(default=True)

    class Meta:
        verbose_name_plural = "peer tallies"
        constraints = [
            models.UniqueConstraint(fields=["question", "rater", "day"], name="peer_tally_unique")
        ]
        indexes = [
            models.Index(
                fields=["question", "rater", "day"],
                condition=Q(stale=True),
                name="peer_tally_stale",
            )
        ]


class Worker(models.Model):
    """A worker process, with the time of its last sweep.

    Administrators see it; nothing depends on it.
    """

    name = models.CharField(max_length=200, unique=True)  # hostname:process id
    swept_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name}: {self.swept_at:%Y-%m-%d %H:%M:%S}"
