"""Serializers of agreement results, for responses and the OpenAPI schema."""

from __future__ import annotations

from rest_framework import serializers

from metrics.agreement.registry import list_mean_kappa_names, list_peer_names
from metrics.agreement.weights import UNWEIGHTED, WEIGHTINGS

REQUIRED_COEFFICIENTS = ("vs_peers", *list_mean_kappa_names([UNWEIGHTED]))  # on every scale


def _build_number_field(help_text: str) -> serializers.FloatField:
    return serializers.FloatField(allow_null=True, help_text=help_text)


class ValueOut(serializers.Serializer):
    value = _build_number_field(
        "The coefficient; null where it is undefined, and then `reason` says why"
    )
    low = _build_number_field("Lower end of the 95 % interval; null where there is none")
    high = _build_number_field("Upper end of the 95 % interval")
    se = _build_number_field("Standard error")
    observed = _build_number_field("Observed agreement")
    expected = _build_number_field("Agreement expected by chance")
    n_items = serializers.IntegerField(
        allow_null=True, help_text="Items that the value is based on"
    )
    n_ratings = serializers.IntegerField(
        allow_null=True, help_text="Ratings that the value is based on"
    )
    n_pairs = serializers.IntegerField(
        required=False, help_text="Of a mean over pairs: pairs that have a kappa"
    )
    bootstrap = serializers.IntegerField(
        required=False,
        help_text="The interval is the bootstrap's, over items, of so many replicates",
    )
    design_effect = serializers.FloatField(
        required=False,
        help_text="The interval and `se` are of items in clusters: so many times the variance of"
        " independent items",
    )
    reason = serializers.CharField(
        allow_null=True,
        help_text=(
            "single_category, no_pairable_items, not_counted, ...; null where value is defined"
        ),
    )


class ItemCountsOut(serializers.Serializer):
    total = serializers.IntegerField(help_text="Items of the project")
    rated = serializers.IntegerField(help_text="with a counted rating")
    with_two_or_more = serializers.IntegerField(
        help_text="with two or more: those that can show agreement"
    )


class RandomSampleOut(serializers.Serializer):
    ratings = serializers.IntegerField(help_text="drawn at random")
    left_out = serializers.IntegerField(
        help_text="requested because earlier ratings had left their items uncertain"
    )


class AllRatingsHeadlineOut(ValueOut):
    name = serializers.CharField()


class HeadlineOut(ValueOut):
    name = serializers.CharField(help_text="The coefficient that is shown first")
    why = serializers.CharField(
        help_text="two_raters, nominal, ordinal, complete, incomplete, or chosen by the lead"
    )
    population = serializers.CharField(
        help_text="people, models or all: whose ratings it is based on"
    )
    note = serializers.CharField(allow_blank=True, help_text="Why the lead chose it")
    unweighted = ValueOut(
        allow_null=True,
        help_text="The same coefficient without weights; null where weights change nothing",
    )
    sample = RandomSampleOut(
        allow_null=True, help_text="null: it is based on all ratings; else on those drawn at random"
    )
    pooled = AllRatingsHeadlineOut(
        allow_null=True, help_text="Of all ratings, where the headline is not based on them"
    )


class ClusterOut(serializers.Serializer):
    attribute = serializers.CharField(help_text="Attribute that items of one cluster share")
    n_clusters = serializers.IntegerField(
        allow_null=True, help_text="with items to compare; null until a worker has computed it"
    )
    n_items = serializers.IntegerField(allow_null=True, help_text="Items to compare in them")
    design_effect = serializers.FloatField(
        allow_null=True, help_text="Of the headline: variance relative to independent items"
    )
    reliable = serializers.BooleanField(
        allow_null=True, help_text="false: so few clusters that no interval can be relied on"
    )


class AgreementOut(serializers.Serializer):
    question = serializers.CharField()
    counted_at = serializers.DateTimeField(
        allow_null=True, help_text="null: nothing was counted yet"
    )
    ratings = serializers.IntegerField(help_text="Ratings that the numbers are based on")
    uncounted = serializers.IntegerField(help_text="Ratings that are not in the numbers yet")
    items = ItemCountsOut()
    headline = HeadlineOut()
    people = ValueOut(help_text="The headline's coefficient of the people")
    models = ValueOut(help_text="of the models")
    people_models = ValueOut(help_text="between people and models")
    coefficients = serializers.DictField(
        child=ValueOut(),
        help_text="Name -> value, of people, or of models where only models rate; of all raters "
        "together with population=all, or where the lead pools them",
    )
    cluster = ClusterOut(
        allow_null=True, help_text="Clusters of items; null where the project has none"
    )


class PairAgreementOut(ValueOut):
    rater_a = serializers.CharField()
    rater_b = serializers.CharField()
    weights = serializers.CharField()
    table = serializers.ListField(
        child=serializers.ListField(child=serializers.IntegerField()),
        help_text="Items by category of rater_a (rows) and of rater_b, in declared order",
    )


class RaterAgreementOut(serializers.Serializer):
    rater = serializers.CharField()
    name = serializers.CharField(allow_blank=True)
    kind = serializers.ChoiceField(["human", "model"])
    group = serializers.CharField(allow_blank=True)
    ratings = serializers.IntegerField()

    def get_fields(self) -> dict[str, serializers.Field]:
        """Add the coefficients; those with custom weights only if the question has a matrix."""
        fields = super().get_fields()
        for name in (*list_peer_names(WEIGHTINGS), *list_mean_kappa_names(WEIGHTINGS)):
            fields[name] = ValueOut(required=name in REQUIRED_COEFFICIENTS)
        return fields


class RaterPeriodOut(ValueOut):
    start = serializers.DateField(help_text="First day of the period, in the project's time zone")
    end = serializers.DateField(help_text="First day after the period")


class PeriodOut(RaterPeriodOut):
    coefficient = serializers.CharField(help_text="Which one it is")
    cumulative = ValueOut(help_text="The same coefficient on all items up to `end`")
