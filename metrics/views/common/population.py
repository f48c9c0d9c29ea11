"""The population of a results page: whose ratings it shows, and links to the others."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from projects.models import Rater

from .selection import Selection

PEOPLE, ALL, MODELS = "people", "all", "models"
LABELS: dict[str, Promise] = {
    PEOPLE: gettext_lazy("People"),
    ALL: gettext_lazy("People + models"),
    MODELS: gettext_lazy("Models"),
}
KINDS = {PEOPLE: Rater.Kind.HUMAN.value, ALL: "", MODELS: Rater.Kind.MODEL.value}


@dataclass(frozen=True)
class PopulationLink:
    """A choice of the switch at the top of a page."""

    label: Promise
    url: str
    selected: bool


def is_mixed(selection: Selection) -> bool:
    """Return whether the page shows ratings of people and of models."""
    return not selection.filter.kind and bool(
        selection.headline.get("n_people") and selection.headline.get("n_models")
    )


def list_links(
    request: HttpRequest, selection: Selection, *, has_models: bool, transient: tuple[str, ...]
) -> list[PopulationLink]:
    """Return the choices of the switch; none where no model rates.

    ``transient``: parameters of the URL that another population drops.
    """
    if not has_models and not selection.filter.kind:
        return []
    links = []
    for name, kind in KINDS.items():
        query = request.GET.copy()
        for parameter in ("kind", *transient):
            query.pop(parameter, None)
        if kind:
            query["kind"] = kind
        url = f"{request.path}?{query.urlencode()}"
        links.append(PopulationLink(LABELS[name], url, kind == selection.filter.kind))
    return links
