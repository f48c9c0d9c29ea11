"""What the words mean: every coefficient, column and sign, the bands, and the document on
statistics. Open to everybody: none says anything of a project."""

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
from projects.guidelines import as_html
from projects.models import BandScheme

WRITTEN = Path("docs") / "statistics.md"
IN_CHINESE = Path("docs") / "zh" / "statistics.md"


@dataclass(frozen=True)
class Section:
    """A part of the document: ``anchor`` is the name of the coefficient that it is of."""

    anchor: str
    title: str
    level: int  # 2 and 3
    html: SafeString


@require_safe
def all_words(request: HttpRequest) -> HttpResponse:
    """What each coefficient, column and sign says; where no popover opens, buttons lead here."""
    schemes = dict(BandScheme.choices)
    context = {
        "coefficients": [
            (name, *display_names.explained(name), coefficient_advice.of(name))
            for name in registry.SAID
        ],
        "terms": [(name, *display_names.explained(name)) for name in glossary.TERMS],
        "weighted": coefficient_advice.WEIGHTED.values(),
        "schemes": [
            (schemes.get(name, name), [(display_names.band(band), band.low) for band in found])
            for name, found in bands.SCHEMES.items()
        ],
    }
    return render(request, "metrics/glossary/glossary.html", context)


@require_safe
def statistics(request: HttpRequest) -> HttpResponse:
    """The document on statistics: each formula with its source and example."""
    in_chinese = (get_language() or "").startswith("zh")
    title, sections = _document(IN_CHINESE if in_chinese else WRITTEN, get_language() or "")
    return render(
        request, "metrics/glossary/statistics.html", {"title": title, "sections": sections}
    )


@functools.lru_cache(maxsize=8)
def _document(path: Path, language: str) -> tuple[str, list[Section]]:
    """Its title and its parts; ``language`` is the active one, in which coefficients are called."""
    called = {_(title): name for name, (title, _text) in registry.SAID.items()}
    text = (settings.BASE_DIR / path).read_text(encoding="utf-8")
    _of_the_file, _sign, text = text.partition("# ")  # a translation begins with what it is of
    title, _sign, rest = text.partition("\n")
    sections: list[Section] = []
    for part in f"\n{rest}".split("\n##")[1:]:
        level = 3 if part.startswith("#") else 2
        head, _sign, body = part.lstrip("# ").partition("\n")
        anchor = called.get(head) or slugify(head, allow_unicode=True) or f"part-{len(sections)}"
        sections.append(Section(anchor, head, level, _reachable(as_html(body), head)))
    return title, sections


def _reachable(html: SafeString, title: str) -> SafeString:
    """The same, with what may be wider than the page scrolled in itself, by keys too."""
    frame = format_html(
        '<div class="table-scroll" tabindex="0" role="group" aria-label="{}">', title
    )
    found = html.replace("<pre>", '<pre tabindex="0">').replace("</table>", "</table></div>")
    return SafeString(found.replace("<table>", f'{frame}<table class="table table--fit">'))
