"""The shapes of values in the API, for the schema."""

from __future__ import annotations

from rest_framework import serializers

from metrics.agreement.registry import mean_names, peer_names
from metrics.agreement.weights import NONE, WEIGHTINGS

ALWAYS = ("vs_peers", *mean_names([NONE]))  # whatever the scale


def _number(text: str) -> serializers.FloatField:
    return serializers.FloatField(allow_null=True, help_text=text)


class ReadingOut(serializers.Serializer):
    value = _number("The coefficient; null where it is undefined, and then `reason` says why")
    low = _number("Lower end of the 95 % interval; null where there is none")
    high = _number("Upper end of the 95 % interval")
    se = _number("Standard error")
    observed = _number("Observed agreement")
    expected = _number("Agreement expected by chance")
    n_items = serializers.IntegerField(allow_null=True, help_text="Items that the value rests on")
    n_ratings = serializers.IntegerField(
        allow_null=True, help_text="Ratings that the value rests on"
    )
    n_pairs = serializers.IntegerField(
        required=False, help_text="Of a mean over pairs: pairs that have a kappa"
    )
    bootstrap = serializers.IntegerField(
        required=False,
        help_text="The interval is the bootstrap's, over items, of so many replicates",
    )
    reason = serializers.CharField(
        allow_null=True,
        help_text=(
            "single_category, no_pairable_items, not_counted, ...; null where value is defined"
        ),
    )


class ItemsOut(serializers.Serializer):
    total = serializers.IntegerField(help_text="Items of the project")
    rated = serializers.IntegerField(help_text="with a counted rating")
    with_two_or_more = serializers.IntegerField(
        help_text="with two or more: those that can show agreement"
    )


class DrawnOut(serializers.Serializer):
    ratings = serializers.IntegerField(help_text="drawn at random")
    left_out = serializers.IntegerField(
        help_text="asked for because others had left their items in doubt"
    )


class PooledOut(ReadingOut):
    name = serializers.CharField()


class HeadlineOut(ReadingOut):
    name = serializers.CharField(help_text="The coefficient that is read first")
    why = serializers.CharField(
        help_text="two_raters, nominal, ordinal, complete, incomplete, or chosen by the lead"
    )
    of = serializers.CharField(help_text="people, models or all: whose ratings it is of")
    note = serializers.CharField(allow_blank=True, help_text="Why the lead chose it")
    drawn = DrawnOut(
        allow_null=True, help_text="null: it rests on all ratings; else on those drawn at random"
    )
    pooled = PooledOut(allow_null=True, help_text="Of all ratings, where it does not rest on them")


class AgreementOut(serializers.Serializer):
    question = serializers.CharField()
    counted_at = serializers.DateTimeField(
        allow_null=True, help_text="null: nothing was counted yet"
    )
    ratings = serializers.IntegerField(help_text="Ratings that the numbers rest on")
    uncounted = serializers.IntegerField(help_text="Ratings that are not in the numbers yet")
    items = ItemsOut()
    headline = HeadlineOut()
    people = ReadingOut(help_text="The headline's coefficient of the people")
    models = ReadingOut(help_text="of the models")
    people_models = ReadingOut(help_text="between people and models")
    coefficients = serializers.DictField(
        child=ReadingOut(), help_text="Name -> reading, of all raters together"
    )


class PairOut(ReadingOut):
    rater_a = serializers.CharField()
    rater_b = serializers.CharField()
    table = serializers.ListField(
        child=serializers.ListField(child=serializers.IntegerField()),
        help_text="Items by category of rater_a (rows) and of rater_b, in declared order",
    )


class RaterOut(serializers.Serializer):
    rater = serializers.CharField()
    name = serializers.CharField(allow_blank=True)
    kind = serializers.ChoiceField(["human", "model"])
    group = serializers.CharField(allow_blank=True)
    ratings = serializers.IntegerField()

    def get_fields(self) -> dict[str, serializers.Field]:
        """The coefficients too; under the question's own matrix only where it has one."""
        fields = super().get_fields()
        for name in (*peer_names(WEIGHTINGS), *mean_names(WEIGHTINGS)):
            fields[name] = ReadingOut(required=name in ALWAYS)
        return fields


class RaterPeriodOut(ReadingOut):
    start = serializers.DateField(help_text="First day of the period, in the project's time zone")
    end = serializers.DateField(help_text="First day after the period")


class PeriodOut(RaterPeriodOut):
    coefficient = serializers.CharField(help_text="Which one it is")
    cumulative = ReadingOut(help_text="The same coefficient on all items up to `end`")
