"""The chart bundle in a browser under the site's Content-Security-Policy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.test import override_settings
from django.urls import path
from playwright.sync_api import Browser, expect

pytestmark = [pytest.mark.browser, pytest.mark.django_db]

PAGE = """<!doctype html><html lang="en"><title>Chart</title><link rel="icon" href="data:,"><div id="chart"></div>
<script type="module" src="/static/vendor/vega-bundle.js"></script>
<script type="module" src="/draw.js"></script></html>"""

# A script of the page's own: what Playwright evaluates itself may use eval whatever the policy
# says.
DRAW = """vegaEmbed("#chart", {
    data: {values: [{x: 1, y: 2}, {x: 2, y: 1}]}, mark: "line",
    encoding: {x: {field: "x", type: "quantitative"}, y: {field: "y", type: "quantitative"}}
}, {
    ast: true, actions: false, renderer: "svg", defaultStyle: false, tooltip: {disableDefaultStyle: true}
}).then(() => document.body.append("drawn"), (error) => document.body.append(String(error)))"""


def chart_page(request: HttpRequest) -> HttpResponse:
    return HttpResponse(PAGE)


def draw_script(request: HttpRequest) -> HttpResponse:
    return HttpResponse(DRAW, content_type="text/javascript")


# A script is asked for as a file, under the name of one (agreement_site.middleware.security.OnlyAsPages).
urlpatterns = [path("", chart_page), path("draw.js", draw_script, name="media")]


@pytest.fixture
def with_chart_page() -> Iterator[None]:
    with override_settings(ROOT_URLCONF=__name__):
        yield


def test_bundle_draws_a_chart_without_violations(
    browser: Browser, with_chart_page: None, live_server: object
) -> None:
    assert Path(settings.BASE_DIR, "build", "static", "vendor", "vega-bundle.js").exists(), (
        "make setup makes it"
    )
    with browser.new_context() as context:
        page = context.new_page()
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.goto(str(live_server))
        expect(page.locator("body")).to_have_text(re.compile("drawn|Error"))
        assert page.locator("#chart svg path").count() > 0
        assert said == []
