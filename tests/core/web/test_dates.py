"""Times on pages: one format, with the time zone, and complete enough for a script to rewrite."""

from __future__ import annotations

import datetime

import pytest
import time_machine
from django.template import Context, Template
from django.utils import timezone, translation
from django.utils.formats import date_format

from core.web.dates import format_relative

MOMENT = datetime.datetime(2026, 11, 22, 16, 41, 6, tzinfo=datetime.UTC)


def render_template(text: str, value: datetime.datetime | None = MOMENT) -> str:
    return Template(text).render(Context({"value": value}))


def test_time_shows_its_zone_and_keeps_its_seconds() -> None:
    with time_machine.travel(MOMENT + datetime.timedelta(minutes=3), tick=False):
        assert render_template("{{ value|relative_time }}") == (
            '<time datetime="2026-11-22T16:41:06+00:00" data-moment="relative"'
            ' title="2026-11-22 16:41 UTC">3 minutes ago</time>'
        )
    assert render_template('{{ value|relative_time:"exact" }}') == (
        '<time datetime="2026-11-22T16:41:06+00:00" data-moment="exact">2026-11-22 16:41'
        '<span class="no-js"> UTC</span></time>'
    )
    assert render_template("{{ value|relative_time }}", None) == ""


def test_time_is_shown_in_the_zone_of_the_page() -> None:
    with timezone.override(datetime.timezone(datetime.timedelta(hours=2), "EET")):
        assert '"2026-11-22 18:41 EET"' in render_template("{{ value|relative_time }}")
        assert ">2026-11-22 18:41<" in render_template('{{ value|relative_time:"exact" }}')


def test_date_is_shown_a_week_or_more_from_now() -> None:
    for days, text in ((-8, "2026-11-14"), (-7, "2026-11-15"), (7, "2026-11-29")):
        with time_machine.travel(MOMENT, tick=False):
            assert format_relative(MOMENT + datetime.timedelta(days=days)) == text


def test_no_template_formats_times_another_way() -> None:
    """Days are written 2026-11-22; Django's own formats follow the language."""
    from django.conf import settings

    for page in (settings.BASE_DIR / "templates").rglob("*.html"):
        text = page.read_text()
        for forbidden in ("DATETIME_FORMAT", "DATE_FORMAT", "H:i", "timesince", "naturaltime"):
            assert forbidden not in text, page.name


@pytest.mark.parametrize("language", ["en", "en-gb", "zh-hans"])
def test_dates_have_the_same_format_everywhere(language: str) -> None:
    with translation.override(language):
        day = date_format(MOMENT, "DATE_FORMAT")
        assert day == MOMENT.date().isoformat() == render_template("{{ value|date }}", MOMENT)
        assert date_format(MOMENT, "DATETIME_FORMAT").startswith(f"{day} ")
        assert day in render_template("{{ value|relative_time:'exact' }}", MOMENT)
