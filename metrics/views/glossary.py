"""Glossary: every coefficient, column and term, the bands, and the document on statistics.

It is public: nothing in it is about a project.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import slugify
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from metrics.agreement import glossary, registry
from metrics.agreement.explain import bands
from metrics.views.common import coefficient_advice, display_names
from projects.guidelines import render_markdown
from projects.models import BandScheme

ENGLISH_DOCUMENT = Path("docs") / "statistics.md"
CHINESE_DOCUMENT = Path("docs") / "zh" / "statistics.md"


@dataclass(frozen=True)
class DocumentSection:
    """A section of the document.

    ``anchor``: the name of the coefficient that it explains, or a slug of the title.
    """

    anchor: str
    title: str
    level: int  # of the heading: 2 or 3
    html: SafeString


@require_safe
def show_glossary(request: HttpRequest) -> HttpResponse:
    """Show the explanation of every coefficient, column and term. Help buttons link here."""
    schemes = dict(BandScheme.choices)
    context = {
        "coefficients": [
            (name, *display_names.get_explanation(name), coefficient_advice.find_advice(name))
            for name in registry.COEFFICIENT_TEXTS
        ],
        "terms": [(name, *display_names.get_explanation(name)) for name in glossary.TERMS],
        "weighted": coefficient_advice.WEIGHTING_ADVICE.items(),
        "schemes": [
            (
                schemes.get(name, name),
                [(display_names.get_band_name(band), band.low) for band in scheme_bands],
            )
            for name, scheme_bands in bands.SCHEMES.items()
        ],
    }
    return render(request, "metrics/glossary/glossary.html", context)


@require_safe
def show_statistics_handbook(request: HttpRequest) -> HttpResponse:
    """Show the document on statistics: each formula with its source and an example."""
    in_chinese = (get_language() or "").startswith("zh")
    title, sections = _load_document(
        CHINESE_DOCUMENT if in_chinese else ENGLISH_DOCUMENT, get_language() or ""
    )
    return render(
        request, "metrics/glossary/statistics.html", {"title": title, "sections": sections}
    )


@functools.lru_cache(maxsize=8)
def _load_document(path: Path, language: str) -> tuple[str, list[DocumentSection]]:
    """Return the title and the sections of the document.

    ``language`` must be the active language: coefficients are recognized by headings in it.
    """
    coefficient_by_title = {
        _(title): name for name, (title, _text) in registry.COEFFICIENT_TEXTS.items()
    }
    text = (settings.BASE_DIR / path).read_text(encoding="utf-8")
    # A translation begins with a note on its source.
    _preamble, _separator, text = text.partition("# ")
    title, _separator, content = text.partition("\n")
    sections: list[DocumentSection] = []
    for section_text in f"\n{content}".split("\n##")[1:]:
        level = 3 if section_text.startswith("#") else 2
        heading, _separator, body = section_text.lstrip("# ").partition("\n")
        anchor = (
            coefficient_by_title.get(heading)
            or slugify(heading, allow_unicode=True)
            or f"part-{len(sections)}"
        )
        sections.append(
            DocumentSection(
                anchor, heading, level, _make_scrollable(render_markdown(body), heading)
            )
        )
    return title, sections


def _make_scrollable(html: SafeString, title: str) -> SafeString:
    """Make elements that may be wider than the page scrollable, also by keyboard."""
    wrapper = format_html(
        '<div class="table-scroll" tabindex="0" role="group" aria-label="{}">', title
    )
    framed = html.replace("<pre>", '<pre tabindex="0">').replace("</table>", "</table></div>")
    return SafeString(framed.replace("<table>", f'{wrapper}<table class="table table--fit">'))
