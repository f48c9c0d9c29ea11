"""Document of a report: sections of paragraphs, lists and tables, built from its facts.

It is in the reader's language; the page and the Markdown file show the same.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from core.hooks import Hook
from core.text import get_list_separator, get_sentence_separator
from metrics.agreement.explain import bands
from metrics.agreement.headline import LEAD_CHOICE
from metrics.question_scale import QuestionScale
from metrics.reports import OutlyingFacts, ReportFacts
from metrics.results.findings import is_band_withheld
from metrics.results.stored_values import Value
from metrics.views.common import display_names, headline_texts, insights
from metrics.views.common.headline_texts import format_estimate
from metrics.views.common.number_formats import format_count, format_number
from projects.models import BandScheme, Question, Scale

from . import cautions_and_methods as reports_texts


@dataclass(frozen=True)
class EstimateCell:
    """A value with its interval, in a table."""

    estimate: Value

    def __str__(self) -> str:
        return format_estimate(self.estimate)


Rows = Sequence[Sequence[str | EstimateCell]]


@dataclass(frozen=True)
class ReportSection:
    """A section of a report.

    ``paragraphs``: (language, text), with an empty language for the reader's; ``points``: a list;
    ``head`` and ``rows``: a table; ``url``: of the page that shows more.
    """

    title: str
    paragraphs: Sequence[tuple[str, str]] = ()
    points: Sequence[str] = ()
    head: Sequence[str] = ()
    rows: Rows = ()
    url: str = ""


# Functions that return sentences on the present state of a question's raters. Packages above
# register theirs at startup.
RATER_NOTES: Hook[Callable[[Question], Sequence[str]]] = Hook("rater_notes_of_reports")


def build_title(facts: ReportFacts) -> str:
    return _("Agreement on “%(question)s”") % {"question": facts["question"]["text"]}


def build_sections(facts: ReportFacts, question: Question) -> list[ReportSection]:
    """Return the sections of the report, the most important first."""
    zone = question.project.time_zone
    all_sections = [
        _build_result_section(facts),
        _build_raters_section(facts, question),
        _build_basis_section(facts, ZoneInfo(zone)),
        _build_coverage_section(facts),
        _build_other_statistics_section(facts),
        _build_groups_section(facts),
        ReportSection(_("What this does not show"), points=reports_texts.list_cautions(facts)),
        ReportSection(_("For a methods section"), paragraphs=reports_texts.build_methods(facts)),
        ReportSection(_("References"), points=reports_texts.list_references(facts)),
        _build_hash_section(facts),
    ]
    return [
        section for section in all_sections if section.paragraphs or section.points or section.rows
    ]


def format_time(text: str, zone: ZoneInfo) -> str:
    return f"{datetime.datetime.fromisoformat(text).astimezone(zone):%Y-%m-%d %H:%M:%S %Z}"


def _build_paragraphs(*texts: str) -> list[tuple[str, str]]:
    return [("", text) for text in texts if text]


def _build_result_section(facts: ReportFacts) -> ReportSection:
    headline = facts["headline"]
    name, value = headline["name"], headline["value"]
    headline_text = _("%(what)s: %(value)s") % {
        "what": display_names.get_coefficient_name(name),
        "value": format_estimate(value),
    }
    if headline["why"] == LEAD_CHOICE:
        note = facts["declared"]["note"]
        why = _("Chosen for this question: %(note)s") % {"note": note}
    else:
        why = str(display_names.get_headline_reason(headline["why"], name))
    scale = QuestionScale.from_declaration(facts["declared"])
    insight_texts = insights.build_sentences(
        facts["findings"],
        [],
        scale,
        scheme=facts["band_scheme"],
        can_name_bands=_can_name_bands(facts),
    )
    return ReportSection(
        _("Result"),
        paragraphs=_build_paragraphs(
            headline_text,
            headline_texts.describe_unweighted(reports_texts.get_unweighted(facts)),
            _describe_bands(facts),
            _describe_target(facts),
            why,
            headline_texts.format_cluster_note(facts.get("cluster")),
            headline_texts.describe_random_sample(headline),
        ),
        points=insight_texts,
    )


def _build_raters_section(facts: ReportFacts, question: Question) -> ReportSection:
    """Return the section on raters: how many lower the value, and notes of other packages."""
    notes = [note for notes in RATER_NOTES.call(question) for note in notes]
    outlying = facts.get("outlying")
    if outlying is not None and outlying["n_raters"]:
        notes.insert(0, _describe_outlying(outlying))
    url = f"{reverse('raters', args=[question.project_id])}?{urlencode({'question': question.key})}"
    return ReportSection(_("Raters"), points=notes, url=url)


def _describe_outlying(outlying: OutlyingFacts) -> str:
    n, without = outlying["n_raters"], outlying["without"]
    sentence = ngettext(
        "%(n)s rater agrees less than the others.",
        "%(n)s raters agree less than the others.",
        n,
    ) % {"n": format_count(n)}
    if without is None or without["value"] is None:
        return sentence
    return f"{sentence} " + ngettext(
        "Without this rater: %(value)s.", "Without them: %(value)s.", n
    ) % {"value": format_estimate(without)}


def _describe_bands(facts: ReportFacts) -> str:
    """Return the sentence on the band of the value.

    Empty for percent agreement, for an undefined value, and where the findings forbid a band.
    """
    headline, scheme = facts["headline"], facts["band_scheme"]
    value = headline["value"]
    if value["value"] is None or headline["name"] == "percent_agreement":
        return ""
    if is_band_withheld(facts["findings"]):
        return ""  # the insights say why
    if not _can_name_bands(facts):
        return _("Not enough data yet for a label.")
    band = display_names.get_band_name(bands.find_band(value["value"], scheme))
    text = _("%(what)s: %(value)s") % {"what": BandScheme(scheme).label, "value": band}
    return text + _(".")


def _can_name_bands(facts: ReportFacts) -> bool:
    has_enough_data = insights.has_enough_data(facts["headline"]["value"], facts["band_scheme"])
    return has_enough_data and not is_band_withheld(facts["findings"])


def _describe_target(facts: ReportFacts) -> str:
    if facts["bar"] is None:
        return ""
    return _("Target: %(bar)s.") % {"bar": format_number(facts["bar"])}


def _build_basis_section(facts: ReportFacts, zone: ZoneInfo) -> ReportSection:
    declared, value = facts["declared"], facts["headline"]["value"]
    labels = get_list_separator().join(category["label"] for category in declared["categories"])
    rated_from_to = [format_time(at, zone) for at in facts["rated_from_to"]]
    dates_rated = " – ".join(dict.fromkeys(rated_from_to))
    if facts["has_untimed_ratings"]:
        dates_rated += (
            _(".")
            + get_sentence_separator()
            + _("Ratings without a time are dated to their import.")
        )
    rows = [
        (_("Project"), facts["project"]["name"]),
        (_("As of"), format_time(facts["as_of"], zone)),
        (_("Ratings"), format_count(facts["n_ratings"])),
        (_("Dates rated"), dates_rated),
        (pgettext("population", "People"), format_count(facts["n_people"])),
        (_("Models"), get_list_separator().join(facts["models"]) or format_count(0)),
        (_("Based on"), _describe_basis(value)),
        (
            _("Scale"),
            _("%(what)s: %(value)s") % {"what": Scale(declared["scale"]).label, "value": labels},
        ),
        (_("Weights"), Scale(declared["scale"]).describe_weights(declared["weights"])),
        (_("Current guidelines"), _format_version(facts["guidelines"])),
    ]
    return ReportSection(_("Basis"), rows=[row for row in rows if row[1]])


def _format_version(number: int) -> str:
    return _("version %(n)s") % {"n": number} if number else _("none")


def _describe_basis(value: Value) -> str:
    if not value["n_items"]:
        return ""
    return ngettext(
        "%(ratings)s ratings of %(items)s item",
        "%(ratings)s ratings of %(items)s items",
        value["n_items"],
    ) % {"ratings": format_count(value["n_ratings"]), "items": format_count(value["n_items"])}


def _build_coverage_section(facts: ReportFacts) -> ReportSection:
    by_ratings = reports_texts.count_items_by_ratings(facts)
    rows = [
        (format_count(number), format_count(items)) for number, items in sorted(by_ratings.items())
    ]
    n_not_comparable = by_ratings.get(0, 0) + by_ratings.get(1, 0)
    coverage_text = _("Each item has two or more ratings.") if by_ratings else _("No ratings yet.")
    if n_not_comparable:
        coverage_text = ngettext(
            "%(n)s item with fewer than two ratings was not compared.",
            "%(n)s items with fewer than two ratings were not compared.",
            n_not_comparable,
        ) % {"n": format_count(n_not_comparable)}
    kappa_note = ""
    if by_ratings.get(1) and facts["headline"]["name"].startswith(
        headline_texts.CHANCE_WITH_SINGLES
    ):
        kappa_note = headline_texts.describe_single_ratings(by_ratings[1])
    return ReportSection(
        _("Coverage"),
        paragraphs=_build_paragraphs(coverage_text, kappa_note),
        head=(_("Ratings per item"), _("Items")),
        rows=rows,
    )


def _build_other_statistics_section(facts: ReportFacts) -> ReportSection:
    estimates = facts["coefficients"]
    rows = [
        (
            str(display_names.get_coefficient_name(name)),
            EstimateCell(estimates[name]),
            format_count(estimates[name]["n_items"]),
        )
        for name in facts["other_coefficients"]
    ]
    head = (_("Statistic"), _("Value"), _("Items"))
    return ReportSection(_("Other statistics"), head=head, rows=rows)


def _build_groups_section(facts: ReportFacts) -> ReportSection:
    """Return the section on the agreement of people and models.

    It has no rows where all raters are of one kind.
    """
    headline = facts["headline"]
    rows = [
        (
            str(display_names.RATER_GROUP_NAMES[name]),
            EstimateCell(headline[name]),
            format_count(headline[name]["n_items"]),
        )
        for name in ("people", "between", "models", "all")
        if name in headline
    ]
    head = (_("Population"), _("Value"), _("Items"))
    return ReportSection(_("People and models"), head=head, rows=rows)


def _build_hash_section(facts: ReportFacts) -> ReportSection:
    return ReportSection(_("SHA-256 of the ratings"), paragraphs=_build_paragraphs(facts["hash"]))


# --- Markdown


def render_markdown(facts: ReportFacts, question: Question) -> str:
    """Return the report as a Markdown text in the reader's language."""
    lines = [f"# {_escape_markdown(build_title(facts))}", ""]
    for section in build_sections(facts, question):
        lines += [f"## {_escape_markdown(section.title)}", ""]
        for _language, text in section.paragraphs:
            lines += [_escape_markdown(text), ""]
        if section.points:
            lines += [*(f"* {_escape_markdown(point)}" for point in section.points), ""]
        if section.rows:
            lines += [*_render_table(section.head, section.rows), ""]
    return "\n".join(lines)


def _render_table(head: Sequence[str], rows: Rows) -> Iterable[str]:
    width = len(rows[0])
    yield _render_row(head or [""] * width)
    yield _render_row(["---"] * width)
    for row in rows:
        yield _render_row([_escape_markdown(str(cell)) for cell in row])


def _render_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escape_markdown(text: str) -> str:
    """Escape a text that users typed, as one line."""
    escaped = re.sub(r"([\\`*_<>|#])", r"\\\1", " ".join(text.split()))
    return escaped.replace("](", "]\\(")
