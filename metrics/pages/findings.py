"""What the stored counts say in plain sentences: the diagnoses of metrics.agreement, in the
reader's language."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from metrics.models import RaterReading, Reading, Span, number_at
from metrics.scale import QuestionScale
from projects.models import Rater

from .figures import figure, percent, whole


def sentences(found: list[dict[str, Any]], raters: list[Rater], scale: QuestionScale) -> list[str]:
    """Stored findings, each {"name", "figures"}, in the reader's language."""
    keys = {rater.pk: rater.key for rater in raters}
    return [_SENTENCES[one["name"]](one["figures"], scale.labels, keys) for one in found]


def raters_apart(readings: Mapping[int, Reading]) -> dict[int, list[str]]:
    """Question -> raters whose agreement with peers lies, interval and all, below the whole
    interval of the project."""
    floors = {
        question: reading.coefficients["fleiss_kappa"]["low"]
        for question, reading in readings.items()
        if reading.coefficients.get("fleiss_kappa", {}).get("low") is not None
    }
    below = Q(pk__in=[])
    for question, floor in floors.items():
        below |= Q(question=question, high__lt=floor)
    rows = RaterReading.objects.filter(question__in=list(floors), span=Span.ALL)
    rows = rows.annotate(high=number_at("coefficients__vs_peers__high")).filter(below)
    found: dict[int, list[str]] = {}
    for question, key in rows.order_by("question_id", "rater__key").values_list(
        "question_id", "rater__key"
    ):
        found.setdefault(question, []).append(key)
    return found


def apart_sentences(keys: list[str]) -> list[str]:
    """What there is to say of raters by their keys: one sentence, or none."""
    names = ", ".join(keys[:3])
    if len(keys) > 3:
        many = _(
            "%(n)s raters agree less with the others than the project does, among them %(names)s."
        )
        return [many % {"n": len(keys), "names": names}]
    few = ngettext(
        "%(names)s agrees less with the others than the project does.",
        "%(names)s agree less with the others than the project does.",
        len(keys),
    )
    return [few % {"names": names}] if keys else []


Sentence = Callable[[dict[str, Any], list[str], dict[int, str]], str]


def _paradox(figures: dict[str, Any], labels: list[str], _names: dict[int, str]) -> str:
    return _(
        "Raters agree in %(observed)s of all comparisons, but %(share)s of the ratings are "
        "“%(label)s”, so much of "
        "that agreement is expected by chance: kappa is %(kappa)s, AC1 is %(ac1)s. Read both."
    ) % {
        "observed": percent(figures["percent_agreement"]),
        "share": percent(figures["share"]),
        "label": labels[figures["category"]],
        "kappa": figure(figures["fleiss_kappa"]),
        "ac1": figure(figures["gwet_ac1"]),
    }


def _unequal(figures: dict[str, Any], _labels: list[str], _names: dict[int, str]) -> str:
    return _(
        "Items have %(fewest)s to %(most)s ratings, and it matters how they are averaged: Fleiss’ "
        "kappa is %(pooled)s "
        "when all ratings count alike and %(by_item)s when all items do. Harder items may have got "
        "more ratings."
    ) % {
        "fewest": whole(figures["fewest_ratings"]),
        "most": whole(figures["most_ratings"]),
        "pooled": figure(figures["fleiss_kappa"], 3),
        "by_item": figure(figures["fleiss_kappa_gwet"], 3),
    }


def _overlap(figures: dict[str, Any], _labels: list[str], _names: dict[int, str]) -> str:
    return _(
        "Only %(shared)s of %(rated)s rated items have two or more ratings: everything about "
        "agreement rests on these."
    ) % {"shared": whole(figures["shared_items"]), "rated": whole(figures["rated_items"])}


def _confused(figures: dict[str, Any], labels: list[str], _names: dict[int, str]) -> str:
    return _(
        "%(share)s of all disagreement is between “%(one)s” and “%(other)s”: the guidelines should "
        "draw the line "
        "between them more clearly."
    ) % {
        "share": percent(figures["share"]),
        "one": labels[figures["category_a"]],
        "other": labels[figures["category_b"]],
    }


def _bias(figures: dict[str, Any], labels: list[str], names: dict[int, str]) -> str:
    a, b = names.get(figures["rater_a"], "?"), names.get(figures["rater_b"], "?")
    more, less = (a, b) if figures["difference"] > 0 else (b, a)
    return _(
        "%(differing)s of %(tested)s pairs of raters use the categories unequally often. Clearest: "
        "%(more)s says "
        "“%(label)s” more often than %(less)s, by %(difference)s of the items both rated."
    ) % {
        "differing": whole(figures["differing_pairs"]),
        "tested": whole(figures["tested_pairs"]),
        "more": more,
        "less": less,
        "label": labels[figures["category"]],
        "difference": percent(abs(figures["difference"])),
    }


def _consistency(figures: dict[str, Any], _labels: list[str], _names: dict[int, str]) -> str:
    return _(
        "Raters put items in nearly the same order (mean correlation %(r)s) but on different "
        "levels (mean quadratic "
        "kappa %(kappa)s): they are consistent without agreeing."
    ) % {"r": figure(figures["mean_pearson"]), "kappa": figure(figures["mean_quadratic_kappa"])}


_SENTENCES: dict[str, Sentence] = {
    "prevalence_paradox": _paradox,
    "unequal_numbers": _unequal,
    "little_overlap": _overlap,
    "confused_categories": _confused,
    "rater_bias": _bias,
    "consistency_only": _consistency,
}
