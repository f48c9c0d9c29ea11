"""Sentences below a value: its clusters, its value without weights, and ratings left out of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.text import get_sentence_separator
from metrics.agreement.counts.wider_intervals import MIN_CLUSTERS
from metrics.results.intervals import describe_clusters
from metrics.results.stored_values import HeadlineResult, Value
from metrics.views.common import display_names
from metrics.views.common.number_formats import format_count, format_interval, format_number
from projects.models import Project

# Coefficients whose expected agreement is based on single ratings, too.
CHANCE_WITH_SINGLES = ("fleiss_kappa", "gwet", "conger")


def format_estimate(value: Value) -> str:
    """Format an estimate with its interval, like 0.43 [0.38, 0.48], or why it is undefined."""
    if value["value"] is None:
        return _("undefined: %(why)s") % {
            "why": display_names.get_undefined_reason(value["reason"])
        }
    return f"{format_number(value['value'])} {format_interval(value)}".strip()


def describe_unweighted(unweighted: tuple[str, Value] | None, *, with_interval: bool = True) -> str:
    """Return the sentence on the value without weights; empty for None or an undefined value.

    ``unweighted``: name and Value, as from QuestionAgreement.get_unweighted.
    """
    if unweighted is None or unweighted[1]["value"] is None:
        return ""
    name, value = unweighted
    return _("%(coefficient)s without weights: %(value)s.") % {
        "coefficient": display_names.get_coefficient_name(name),
        "value": format_estimate(value) if with_interval else format_number(value["value"]),
    }


def describe_single_ratings(n: int) -> str:
    """Return the sentence on single ratings, which affect expected agreement only; empty for 0."""
    if not n:
        return ""
    return ngettext(
        "%(n)s item with one rating is used only to estimate chance agreement.",
        "%(n)s items with one rating are used only to estimate chance agreement.",
        n,
    ) % {"n": format_count(n)}


def describe_random_sample(headline: HeadlineResult) -> str:
    """Return the sentences on ratings outside the random sample, and the estimate of all ratings.

    Empty where the headline is based on all ratings (metrics.results.headline.random_sample).
    """
    if "sample" not in headline:
        return ""
    n_left_out, pooled = headline["sample"]["left_out"], headline["pooled"]
    omission = ngettext(
        "Without %(shown)s rating requested for uncertain items.",
        "Without %(shown)s ratings requested for uncertain items.",
        n_left_out,
    ) % {"shown": format_count(n_left_out)}
    pooled_text = _("%(coefficient)s of all ratings: %(value)s.") % {
        "coefficient": display_names.get_coefficient_name(pooled["name"]),
        "value": format_estimate(pooled["value"]),
    }
    return get_sentence_separator().join((omission, _("The rest is a random sample."), pooled_text))


def build_cluster_note(project: Project, clusters: Any, name: str) -> str:
    """Return the note on the clusters of a coefficient's interval.

    Empty where the project has no clusters. ``clusters``: a QuestionClusters, or None while a
    worker computes it; ``name``: of the coefficient.
    """
    return format_cluster_note(describe_clusters(project, clusters, name))


def format_cluster_note(cluster: Mapping[str, Any] | None) -> str:
    """Return the note on clusters; empty for None, and where no items are compared.

    ``cluster``: a description by `describe_clusters`.
    """
    if cluster is None:
        return ""
    params = {"attribute": cluster["attribute"]}
    if cluster["n_clusters"] is None:
        return _("Computing intervals clustered by “%(attribute)s” …") % params
    if not cluster["n_items"]:
        return ""
    if cluster["n_clusters"] < 2:
        return _("No interval: all compared items have the same “%(attribute)s”.") % params
    params |= {
        "clusters": format_count(cluster["n_clusters"]),
        "items": format_count(cluster["n_items"]),
        "effect": format_number(cluster["design_effect"], 1),
        "least": MIN_CLUSTERS,
    }
    sentence = (
        ngettext(
            "Intervals by clusters of “%(attribute)s”: %(items)s item in %(clusters)s "
            "clusters (design effect %(effect)s).",
            "Intervals by clusters of “%(attribute)s”: %(items)s items in %(clusters)s "
            "clusters (design effect %(effect)s).",
            cluster["n_items"],
        )
        % params
    )
    if cluster["reliable"]:
        return sentence
    warning = _("Fewer than %(least)s clusters: the interval may be too narrow.") % params
    return f"{sentence} {warning}"
