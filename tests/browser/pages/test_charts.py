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

# The page loads this script itself: code that Playwright evaluates may use eval whatever the policy
# says.
DRAW = """vegaEmbed("#chart", {
    data: {values: [{x: 1, y: 2}, {x: 2, y: 1}]}, mark: "line",
    encoding: {x: {field: "x", type: "quantitative"}, y: {field: "y", type: "quantitative"}}
}, {
    ast: true, actions: false, renderer: "svg", defaultStyle: false, tooltip: {disableDefaultStyle: true}
}).then(() => document.body.append("drawn"), (error) => document.body.append(String(error)))"""


def render_chart_page(request: HttpRequest) -> HttpResponse:
    return HttpResponse(PAGE)


def serve_draw_script(request: HttpRequest) -> HttpResponse:
    return HttpResponse(DRAW, content_type="text/javascript")


# A script is requested as a file, so its route has the name of a file route (agreement_site.middleware.security.OnlyAsPages).
urlpatterns = [path("", render_chart_page), path("draw.js", serve_draw_script, name="media")]


@pytest.fixture
def chart_page_urls() -> Iterator[None]:
    with override_settings(ROOT_URLCONF=__name__):
        yield


def test_bundle_draws_a_chart_without_violations(
    browser: Browser, chart_page_urls: None, live_server: object
) -> None:
    assert Path(settings.BASE_DIR, "build", "static", "vendor", "vega-bundle.js").exists(), (
        "make setup makes it"
    )
    with browser.new_context() as context:
        page = context.new_page()
        messages: list[str] = []
        page.on("console", lambda message: messages.append(message.text))
        page.goto(str(live_server))
        expect(page.locator("body")).to_have_text(re.compile("drawn|Error"))
        assert page.locator("#chart svg path").count() > 0
        assert messages == []
