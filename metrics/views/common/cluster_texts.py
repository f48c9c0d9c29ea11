"""Sentences on clusters of items: what the intervals take into account, and where they cannot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from metrics.agreement.counts.wider_intervals import MIN_CLUSTERS
from metrics.results.intervals import describe_clusters
from metrics.views.common.number_formats import format_count, format_number
from projects.models import Project


def build_cluster_note(project: Project, clusters: Any, name: str) -> str:
    """Return the note on the interval of a coefficient; empty where the project has no clusters.

    ``clusters``: a QuestionClusters, or None while a worker computes it.
    """
    return format_cluster_note(describe_clusters(project, clusters, name))


def format_cluster_note(cluster: Mapping[str, Any] | None) -> str:
    """Return the note on a description by `describe_clusters`; empty for None, or without items."""
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
