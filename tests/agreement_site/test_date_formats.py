"""Dates have one format everywhere: 2026-11-23 (agreement_site/formats)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from django.conf import settings
from django.utils import formats, translation

from metrics.views.common import vega_lite
from tests.tools.translation_catalogue import APPS, ROOT

# The last one is of mails, which have no reader's time zone.
TEMPLATE_FORMATS = {"Y-m-d", "YEAR_MONTH_FORMAT", "Y-m-d H:i e"}
DATE_FILTER = re.compile(r"\|date:[\"']([^\"']+)[\"']")
# Parts of strftime and d3 for the name of a month or weekday, for years without their century and
# for dates as the locale writes them; and a day before its month.
OTHER_FORMAT = re.compile(r"%-?[bBaAyxcD]\b|%-?d[^%\w]*%-?m")


def iter_code_formats() -> Iterator[str]:
    for app in APPS:
        for path in (ROOT / app).rglob("*.py"):
            if "imports" in path.parts:  # readers of other tools' dates
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                text = getattr(node, "value", None)
                if isinstance(text, str) and OTHER_FORMAT.search(text):
                    yield f"{path.relative_to(ROOT)}: {text!r}"


def test_templates_use_the_one_format() -> None:
    templates = [path for path in (ROOT / "templates").rglob("*") if path.is_file()]
    used = {name for path in templates for name in DATE_FILTER.findall(path.read_text("utf-8"))}
    assert used and used <= TEMPLATE_FORMATS


def test_code_uses_the_one_format() -> None:
    assert OTHER_FORMAT.search("%-d %b") and OTHER_FORMAT.search("%d.%m.%Y")
    assert not OTHER_FORMAT.search("%Y-%m-%d %H:%M")
    assert list(iter_code_formats()) == []


def test_every_language_has_the_one_format() -> None:
    for language, _name in settings.LANGUAGES:
        with translation.override(language):
            for name in ("DATE_FORMAT", "SHORT_DATE_FORMAT"):
                assert formats.get_format(name) == "Y-m-d", language


def test_axes_of_charts_have_the_one_format() -> None:
    axes = {span: vega_lite.build_time_axis(span)["axis"] for span in ("day", "week", "month")}
    assert [axes[span]["format"] for span in axes] == ["%Y-%m-%d", "%Y-%m-%d", "%Y-%m"]
