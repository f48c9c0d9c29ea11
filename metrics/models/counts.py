"""The stored counts of a question, and how far counting is."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from core.jobs.lease import Leased
from projects.models import Question, Rater

EVER = -(2**31)  # the day of the rows that hold all days together


class CountState(models.Model):
    """One row a question: its lock, and how far counting is. Locked (FOR UPDATE) by whoever
    counts."""

    question = models.OneToOneField(
        Question, models.CASCADE, primary_key=True, related_name="count_state"
    )
    # Rises with every counting that moved something; pages compare it to know whether to refresh.
    version = models.PositiveBigIntegerField(default=0)
    counted_at = models.DateTimeField(null=True, blank=True)
    ratings = models.PositiveBigIntegerField(default=0)
    # Changes that are counted but not yet in the readings. Pages add them to the uncounted ratings:
    # what they say is not in the numbers is exactly what is not.
    unread = models.PositiveBigIntegerField(default=0)
    # Whom the counts hold as models, and whether these are kept apart from people
    # (metrics.counting.rater_kinds); the Project.catalogue_version for which that was looked at, and
    # whether all is to be counted anew.
    model_raters = models.JSONField(default=list, blank=True)
    apart = models.BooleanField(default=False)
    catalogue = models.PositiveBigIntegerField(default=0)
    recount = models.BooleanField(default=False)
    # Raters of whom a rating is counted; models are people here where they are not kept apart.
    n_people = models.PositiveIntegerField(default=0)
    n_models = models.PositiveIntegerField(default=0)
    # Weighting -> [sum of the pairs' kappas in units of 2^-60, number of pairs that have one]:
    # integers, so that adding and taking away leaves exactly what a sum from nothing gives,
    # whatever the number of pairs.
    pair_sums = models.JSONField(default=dict)
    # Cumulative readings of the periods from this day on are still to be made (readings.finish).
    cumulative_from = models.IntegerField(null=True, blank=True)
    # A backlog is being counted in shares (metrics.counting.backlog): the items after backlog_from,
    # up to backlog_to, are not given out yet. Null: there is none.
    backlog_from = models.BigIntegerField(null=True, blank=True)
    backlog_to = models.BigIntegerField(default=0)
    # Ratings that were uncounted when it began, and how many of them are counted: for people who
    # wait, not a bound.
    backlog_total = models.PositiveBigIntegerField(default=0)
    backlog_done = models.PositiveBigIntegerField(default=0)
    # When the readings were last brought up to the counts, or a backlog began.
    read_at = models.DateTimeField(null=True, blank=True)
    # Name -> {"low", "high", "bootstrap"} of coefficients without a standard error, and the version
    # they belong to.
    bootstrap = models.JSONField(default=dict, blank=True)
    bootstrap_people = models.JSONField(default=dict, blank=True)  # of the people alone
    # The mean pairwise kappas that count a pair by its items (readings.means).
    pairwise = models.JSONField(default=dict, blank=True)
    bootstrapped = models.PositiveBigIntegerField(default=0)
    # What is read first where items were chosen for what others had said of them (readings.drawn);
    # empty where none was. Where making it takes long it rests, and may be behind meanwhile.
    drawn = models.JSONField(default=dict, blank=True)
    drawn_rests_until = models.DateTimeField(null=True, blank=True)
    drawn_behind = models.BooleanField(default=False, db_default=False)
    # The Question.scale_version for which the readings were made; when it lags, all of them are
    # made anew.
    scale_version = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"question {self.question_id}: version {self.version}"

    @classmethod
    def version_of(cls, question_id: int) -> int:
        """The version of a question's counts; 0 while nothing has been counted."""
        versions = cls.objects.filter(pk=question_id).values_list("version", flat=True)
        return versions.first() or 0


class Share(Leased):
    """A range of a question's items that one worker is counting. While the row stands with the
    worker's lease, nobody else has counted any item of the range since the lease was taken
    (metrics.counting.backlog)."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="+")
    first = models.BigIntegerField()
    last = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["question", "first"], name="share_unique")]

    def __str__(self) -> str:
        return f"question {self.question_id}: items {self.first} to {self.last}"


class PatternTally(models.Model):
    """How many items have which vector of category counts: on one day (that of the item's latest
    rating), or ever."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    day = models.IntegerField()
    width = models.PositiveSmallIntegerField()
    # Whether the counts of each category are twice there: the people's, then the models'.
    apart = models.BooleanField(default=False)
    # (n_patterns, width + 1), or (n_patterns, 2 width + 1) where they are apart: the counts of each
    # category, then the number of items.
    patterns = models.BinaryField()
    stale = models.BooleanField(default=True)

    class Meta:
        verbose_name_plural = "pattern tallies"
        constraints = [
            models.UniqueConstraint(fields=["question", "day"], name="pattern_tally_unique")
        ]
        indexes = [
            models.Index(
                fields=["question", "day"], condition=Q(stale=True), name="pattern_tally_stale"
            )
        ]


class PairTally(models.Model):
    """The width x width table of two raters' ratings of the same items (rows: rater_a), and its
    kappas with their 95 % intervals."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    rater_a = models.ForeignKey(Rater, models.CASCADE, related_name="+", db_index=False)
    rater_b = models.ForeignKey(Rater, models.CASCADE, related_name="+", db_index=False)
    width = models.PositiveSmallIntegerField()
    table = models.BinaryField()
    n_items = models.PositiveIntegerField()
    # Cohen's kappa under each weighting and the ends of its interval; null where undefined. Always
    # of this very table.
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
            # The list of pairs and a rater's: those with the most items in common (pairs.listed).
            models.Index(
                fields=["question", "-n_items", "rater_a", "rater_b"], name="pair_tally_by_items"
            ),
        ]


class PeerTally(models.Model):
    """One rater's ratings of one day (their own ``rated_at``), or ever, against all other ratings
    of the same items."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="+", db_index=False)
    day = models.IntegerField()
    width = models.PositiveSmallIntegerField()
    # (width, width) own x others, then (width, width, width) second moments for the interval
    # (agreement.tally).
    table = models.BinaryField()
    moments = models.BinaryField()
    n_items = models.PositiveIntegerField()
    # All own ratings of that day, also on items nobody else rated.
    n_ratings = models.PositiveIntegerField()
    # Of the row of all days together: the rater's reading is behind. Of single days none is stored.
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
