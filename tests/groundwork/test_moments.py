"""Moments on pages: one form, with the zone, and whole enough for a script to write it anew."""

from __future__ import annotations

import datetime

from django.template import Context, Template
from django.utils import timezone

MOMENT = datetime.datetime(2026, 11, 22, 16, 41, 6, tzinfo=datetime.UTC)


def written(text: str, value: datetime.datetime | None = MOMENT) -> str:
    return Template(text).render(Context({"value": value}))


def test_a_moment_says_its_zone_and_keeps_its_seconds() -> None:
    assert written("{{ value|moment }}") == (
        '<time datetime="2026-11-22T16:41:06+00:00" data-moment="passed">2026-11-22 16:41 UTC</time>'
    )
    assert 'data-moment="exact"' in written('{{ value|moment:"exact" }}')
    assert written("{{ value|moment }}", None) == ""


def test_a_moment_is_written_in_the_zone_of_the_page() -> None:
    with timezone.override(datetime.timezone(datetime.timedelta(hours=2), "EET")):
        assert ">2026-11-22 18:41 EET<" in written("{{ value|moment }}")


def test_no_page_writes_a_moment_another_way() -> None:
    """Days are written 2026-11-22; Django's own formats follow the language."""
    from django.conf import settings

    for page in (settings.BASE_DIR / "templates").rglob("*.html"):
        text = page.read_text()
        for other in ("DATETIME_FORMAT", "DATE_FORMAT", "H:i", "timesince", "naturaltime"):
            assert other not in text, page.name
