"""A report as it is read: sections of paragraphs, points and tables, made of its facts in the
reader's language. The page and the Markdown show the same."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from metrics.agreement.explain import bands
from metrics.agreement.headline import CHOSEN
from metrics.scale import QuestionScale
from metrics.views.common import display_names, insights
from metrics.views.common.number_formats import figure, whole
from projects.models import BandScheme, Scale, Weights

from . import random_sample_texts
from . import texts as reports_texts
from .random_sample_texts import reading

Facts = dict[str, Any]
Rows = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Section:
    """``paragraphs``: a language where it is not the reader's, and a text."""

    title: str
    paragraphs: Sequence[tuple[str, str]] = ()
    points: Sequence[str] = ()
    head: Sequence[str] = ()
    rows: Rows = ()


def title(facts: Facts) -> str:
    return _("Agreement on “%(question)s”") % {"question": facts["question"]["text"]}


def sections(facts: Facts, zone: str) -> list[Section]:
    """The report, the most important first."""
    found = [
        _result(facts),
        _rests_on(facts, ZoneInfo(zone)),
        _missing(facts),
        _beside(facts),
        _groups(facts),
        Section(_("What must not be claimed from it"), points=reports_texts.cautions(facts)),
        Section(_("For a methods section"), paragraphs=reports_texts.methods(facts)),
        Section(_("References"), points=reports_texts.references(facts)),
        _hash(facts),
    ]
    return [section for section in found if section.paragraphs or section.points or section.rows]


def moment(text: str, zone: ZoneInfo) -> str:
    return f"{datetime.datetime.fromisoformat(text).astimezone(zone):%Y-%m-%d %H:%M:%S %Z}"


def _said(*texts: str) -> list[tuple[str, str]]:
    return [("", text) for text in texts if text]


def _result(facts: Facts) -> Section:
    first = facts["headline"]
    name, value = first["name"], first["value"]
    told = _("%(coefficient)s: %(value)s") % {
        "coefficient": display_names.coefficient(name),
        "value": reading(value),
    }
    if first["why"] == CHOSEN:
        note = facts["declared"]["note"]
        why = _("Chosen for this question: %(note)s") % {"note": note}
    else:
        why = str(display_names.why(first["why"], name))
    scale = QuestionScale.of_declared(facts["declared"])
    more = insights.sentences(facts["findings"], [], scale, scheme=facts["band_scheme"])
    return Section(
        _("Result"),
        paragraphs=_said(
            told, _in_words(facts), _bar(facts), why, random_sample_texts.sentence(first)
        ),
        points=more,
    )


def _in_words(facts: Facts) -> str:
    """The band of the value and of the ends of its interval; percent agreement has none."""
    first, scheme = facts["headline"], facts["band_scheme"]
    value = first["value"]
    if value["value"] is None or first["name"] == "percent_agreement":
        return ""
    told = {
        "band": display_names.band(bands.band_of(value["value"], scheme)),
        "scheme": BandScheme(scheme).label,
    }
    if value["low"] is None:
        return _("In the words of %(scheme)s: %(band)s.") % told
    told["low"] = display_names.band(bands.band_of(value["low"], scheme))
    told["high"] = display_names.band(bands.band_of(value["high"], scheme))
    if told["low"] == told["high"]:
        return _("In the words of %(scheme)s: %(band)s, at both ends of the interval.") % told
    return (
        _("In the words of %(scheme)s: %(band)s; the interval reaches from %(low)s to %(high)s.")
        % told
    )


def _bar(facts: Facts) -> str:
    if facts["bar"] is None:
        return ""
    return _("The project’s bar: %(bar)s.") % {"bar": figure(facts["bar"])}


def _rests_on(facts: Facts, zone: ZoneInfo) -> Section:
    declared, value = facts["declared"], facts["headline"]["value"]
    labels = ", ".join(category["label"] for category in declared["categories"])
    days = [moment(at, zone) for at in facts["rated_from_to"]]
    rows = [
        (_("Project"), facts["project"]["name"]),
        (_("As of"), moment(facts["as_of"], zone)),
        (_("Ratings"), whole(facts["n_ratings"])),
        (_("Rated from, to"), " – ".join(dict.fromkeys(days))),
        (_("People"), whole(facts["n_people"])),
        (_("Models"), ", ".join(facts["models"]) or whole(0)),
        (_("The value rests on"), _basis(value)),
        (_("Scale"), f"{Scale(declared['scale']).label}: {labels}"),
        (_("Weights"), str(Weights(declared["weights"]).label)),
        (_("Guidelines"), _version(facts["guidelines"])),
    ]
    return Section(_("What it rests on"), rows=[row for row in rows if row[1]])


def _version(number: int) -> str:
    return _("version %(number)s") % {"number": number} if number else _("none written")


def _basis(value: dict[str, Any]) -> str:
    if not value["n_items"]:
        return ""
    return ngettext(
        "%(ratings)s ratings of %(items)s item",
        "%(ratings)s ratings of %(items)s items",
        value["n_items"],
    ) % {"ratings": whole(value["n_ratings"]), "items": whole(value["n_items"])}


def _missing(facts: Facts) -> Section:
    by_ratings = reports_texts.by_ratings(facts)
    rows = [(whole(number), whole(items)) for number, items in sorted(by_ratings.items())]
    lacking = by_ratings.get(0, 0) + by_ratings.get(1, 0)
    said = _("Each item has two or more ratings.")
    if lacking:
        said = ngettext(
            "%(n)s item has fewer than two ratings and is in no comparison.",
            "%(n)s items have fewer than two ratings and are in no comparison.",
            lacking,
        ) % {"n": whole(lacking)}
    kappa = ""
    if by_ratings.get(1) and facts["headline"]["name"].startswith("fleiss_kappa"):
        kappa = _("Items with one rating count in what is expected by chance.")
    return Section(
        _("Missing ratings"),
        paragraphs=_said(said, kappa),
        head=(_("Ratings of an item"), _("Items")),
        rows=rows,
    )


def _beside(facts: Facts) -> Section:
    known = facts["coefficients"]
    rows = [
        (
            str(display_names.coefficient(name)),
            reading(known[name]),
            whole(known[name]["n_items"]),
        )
        for name in facts["beside"]
    ]
    head = (_("Statistic"), _("Value"), _("Items"))
    return Section(_("Beside it"), head=head, rows=rows)


def _groups(facts: Facts) -> Section:
    """Empty where all raters are of one kind."""
    first = facts["headline"]
    rows = [
        (str(display_names.GROUPS[name]), reading(first[name]), whole(first[name]["n_items"]))
        for name in ("people", "between", "models", "all")
        if name in first
    ]
    head = (_("Whose"), _("Value"), _("Items"))
    return Section(_("People and models"), head=head, rows=rows)


def _hash(facts: Facts) -> Section:
    said = _(
        "SHA-256 of the ratings as they stood then: one JSON list of item, rater and category’s "
        "code a line, in the order of the bytes of item and rater. The same moment gives the same."
    )
    return Section(_("The ratings it rests on"), paragraphs=_said(facts["hash"], said))


# --- as Markdown


def markdown(facts: Facts, zone: str) -> str:
    """The whole report as a text."""
    lines = [f"# {_plain(title(facts))}", ""]
    for section in sections(facts, zone):
        lines += [f"## {_plain(section.title)}", ""]
        for _language, text in section.paragraphs:
            lines += [_plain(text), ""]
        if section.points:
            lines += [*(f"* {_plain(point)}" for point in section.points), ""]
        if section.rows:
            lines += [*_table(section.head, section.rows), ""]
    return "\n".join(lines)


def _table(head: Sequence[str], rows: Rows) -> Iterable[str]:
    width = len(rows[0])
    yield _line(head or [""] * width)
    yield _line(["---"] * width)
    for row in rows:
        yield _line([_plain(cell) for cell in row])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _plain(text: str) -> str:
    """What people typed, so that Markdown shows it as it is, on one line."""
    escaped = re.sub(r"([\\`*_<>|#])", r"\\\1", " ".join(text.split()))
    return escaped.replace("](", "]\\(")
