"""Problems of a page as a browser shows it.

It contains no tests: see test_every_page.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Error, Page, ViewportSize

from tests.browser.conftest import LAYOUT_SHIFT_SCRIPT, wait_for_charts
from tests.browser.page_catalogue import REDIRECTING_PAGES, PageVisit, SampleWorld

ColorScheme = Literal["light", "dark"]
PHONE: ViewportSize = {"width": 390, "height": 844}
DESKTOP: ViewportSize = {"width": 1440, "height": 900}
# A layout shift score. A badge that moves 40 px sideways is 0.0005, as when a minute ends while the
# page loads; a line of text that wraps at the top of a page is 0.01.
MAX_LAYOUT_SHIFT = 0.005
N_RELOADS = 4  # of a page that moved
TIME_ZONE = "Asia/Kolkata"  # far from the server's zone, so that times in the reader's zone differ
# The selectors of violations cost axe a fifth of its time: they are requested if there are any.
QUICK_AXE_OPTIONS = {"resultTypes": ["violations"], "preload": False, "selectors": False}


@dataclass(frozen=True)
class PageVariant:
    """Language, colour schemes and window size of a visit.

    ``pictures``: a folder that gets a screenshot of each page.
    """

    locale: str
    schemes: Sequence[ColorScheme]
    size: ViewportSize
    pictures: Path | None = None


def find_page_problems(
    browser: Browser,
    url: str,
    world: SampleWorld,
    visits: Sequence[PageVisit],
    variant: PageVariant,
) -> Iterator[str]:
    """Yield the problems of the visited pages."""
    for user in dict.fromkeys(visit.user for visit in visits):
        with _open_context(browser, url, world, user, variant) as context:
            page = context.new_page()
            messages: list[str] = []
            page.on("console", partial(_record_message, messages))
            page.on("pageerror", partial(_record_error, messages))
            for visit in visits:
                if visit.user == user:
                    messages.clear()
                    for problem in [*_check_page(page, visit, variant), *messages]:
                        yield f"{visit.name} ({visit.address}, {variant.locale}): {problem}"


def _open_context(
    browser: Browser, url: str, world: SampleWorld, user: str, variant: PageVariant
) -> BrowserContext:
    context = browser.new_context(
        base_url=url,
        locale=variant.locale,
        timezone_id=TIME_ZONE,
        reduced_motion="reduce",
        viewport=variant.size,
        color_scheme=variant.schemes[0],
    )
    if session := world.clients[user].cookies.get("sessionid"):
        context.add_cookies([{"name": "sessionid", "value": session.value, "url": url}])
    context.add_init_script(LAYOUT_SHIFT_SCRIPT)
    return context


def _record_message(messages: list[str], message: ConsoleMessage) -> None:
    # some visits are meant to be answered with 403 or 404
    if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
        messages.append(message.text)


def _record_error(messages: list[str], error: Error) -> None:
    messages.append(str(error))


def _check_page(page: Page, visit: PageVisit, variant: PageVariant) -> Iterator[str]:
    page.set_viewport_size(variant.size)
    page.emulate_media(color_scheme=variant.schemes[0])
    layout_shift = _load_page(page, visit.address)
    if visit.name not in REDIRECTING_PAGES and not page.url.endswith(visit.address):
        yield f"led to {page.url}"
    # A page that moves by itself does so each time. A busy machine that paints half a page first
    # moves it only now and then.
    if layout_shift >= MAX_LAYOUT_SHIFT and all(
        _load_page(page, visit.address) >= MAX_LAYOUT_SHIFT for _again in range(N_RELOADS)
    ):
        movers = page.evaluate("window.movers")
        yield f"moved by {layout_shift:.4f} at {variant.size['width']} px: {movers}"
    page.evaluate(AXE_SCRIPT)
    for scheme in variant.schemes:
        page.emulate_media(color_scheme=scheme)
        wait_for_charts(page)
        # Of axe's rules, contrast alone depends on the colours.
        rules = {} if scheme == variant.schemes[0] else {"runOnly": ["color-contrast"]}
        yield from _iter_violations(page, scheme, QUICK_AXE_OPTIONS | rules)
        if variant.pictures:
            name = f"{visit.name.replace(' ', '-')}.{variant.locale[:2]}.{variant.size['width']}.{scheme}"
            page.screenshot(path=variant.pictures / f"{name}.png", full_page=True)
    for size in sorted((PHONE, DESKTOP), key=lambda candidate: candidate != variant.size):
        page.set_viewport_size(size)
        page_width = page.evaluate("document.documentElement.scrollWidth")
        if page_width > size["width"]:
            yield f"{page_width} px wide on {size['width']}"


def _load_page(page: Page, address: str) -> float:
    """Load the page until all charts are drawn; return its layout shift meanwhile."""
    page.goto(address)
    wait_for_charts(page)
    layout_shift: float = sum(page.evaluate("window.moved"))
    return layout_shift


def _iter_violations(page: Page, scheme: ColorScheme, options: dict[str, Any]) -> Iterator[str]:
    if not _run_axe(page, options):
        return
    for rule in _run_axe(page, options | {"selectors": True}):
        nodes = ", ".join(str(node["target"]) for node in rule["nodes"][:4])
        yield f"{scheme}: {rule['id']} at {nodes}"


def _run_axe(page: Page, options: dict[str, Any]) -> list[dict[str, Any]]:
    violations: list[dict[str, Any]] = page.evaluate(
        f"axe.run({json.dumps(options)}).then((found) => found.violations)"
    )
    return violations
