"""Moments on pages: one form, with the zone, and whole enough for a script to write it anew."""

from __future__ import annotations

import datetime

import pytest
import time_machine
from django.template import Context, Template
from django.utils import timezone, translation
from django.utils.formats import date_format

from core.web.dates import format_relative

MOMENT = datetime.datetime(2026, 11, 22, 16, 41, 6, tzinfo=datetime.UTC)


def written(text: str, value: datetime.datetime | None = MOMENT) -> str:
    return Template(text).render(Context({"value": value}))


def test_a_moment_says_its_zone_and_keeps_its_seconds() -> None:
    with time_machine.travel(MOMENT + datetime.timedelta(minutes=3), tick=False):
        assert written("{{ value|moment }}") == (
            '<time datetime="2026-11-22T16:41:06+00:00" data-moment="passed"'
            ' title="2026-11-22 16:41 UTC">3 minutes ago</time>'
        )
    assert written('{{ value|moment:"exact" }}') == (
        '<time datetime="2026-11-22T16:41:06+00:00" data-moment="exact">2026-11-22 16:41'
        '<span class="no-js"> UTC</span></time>'
    )
    assert written("{{ value|moment }}", None) == ""


def test_a_moment_is_written_in_the_zone_of_the_page() -> None:
    with timezone.override(datetime.timezone(datetime.timedelta(hours=2), "EET")):
        assert '"2026-11-22 18:41 EET"' in written("{{ value|moment }}")
        assert ">2026-11-22 18:41<" in written('{{ value|moment:"exact" }}')


def test_longer_than_a_week_ago_or_ahead_the_day_is_named() -> None:
    for days, told in ((-8, "2026-11-14"), (-7, "2026-11-15"), (7, "2026-11-29")):
        with time_machine.travel(MOMENT, tick=False):
            assert format_relative(MOMENT + datetime.timedelta(days=days)) == told


def test_no_page_writes_a_moment_another_way() -> None:
    """Days are written 2026-11-22; Django's own formats follow the language."""
    from django.conf import settings

    for page in (settings.BASE_DIR / "templates").rglob("*.html"):
        text = page.read_text()
        for other in ("DATETIME_FORMAT", "DATE_FORMAT", "H:i", "timesince", "naturaltime"):
            assert other not in text, page.name


@pytest.mark.parametrize("language", ["en", "en-gb", "zh-hans"])
def test_a_day_is_written_alike_in_a_sentence_a_table_and_a_moment(language: str) -> None:
    with translation.override(language):
        day = date_format(MOMENT, "DATE_FORMAT")
        assert day == MOMENT.date().isoformat() == written("{{ value|date }}", MOMENT)
        assert date_format(MOMENT, "DATETIME_FORMAT").startswith(f"{day} ")
        assert day in written("{{ value|moment:'exact' }}", MOMENT)
