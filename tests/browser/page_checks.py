"""Looking at a page as a browser shows it: what is wrong with it, in words. Here are no tests: see
test_every_page.py."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Error, Page, ViewportSize

from tests.browser.conftest import WATCH, drawn
from tests.browser.page_catalogue import LEADS_ON, Visit, World

Scheme = Literal["light", "dark"]
PHONE: ViewportSize = {"width": 390, "height": 844}
DESK: ViewportSize = {"width": 1440, "height": 900}
# As layout shift is measured: 0.00. A badge that goes 40 px to the side is 0.0005, as a minute that
# ends while the page comes makes it; a line of text that wraps at the top of a page is 0.01.
STILL = 0.005
LOOKS = 4  # again, at a page that moved
ZONE = (
    "Asia/Kolkata"  # far from the server's: what a page writes in the reader's zone is other text
)
# Where a rule is broken costs axe a fifth of its time: that is asked when one is.
QUICK = {"resultTypes": ["violations"], "preload": False, "selectors": False}


@dataclass(frozen=True)
class Look:
    """In which language and colours, and at which width a page is looked at. ``pictures``: a folder
    that gets one of each."""

    locale: str
    schemes: Sequence[Scheme]
    size: ViewportSize
    pictures: Path | None = None


def look(
    browser: Browser, url: str, world: World, visits: Sequence[Visit], how: Look
) -> Iterator[str]:
    """What is wrong with the pages."""
    for who in dict.fromkeys(visit.who for visit in visits):
        with _window(browser, url, world, who, how) as context:
            page = context.new_page()
            said: list[str] = []
            page.on("console", partial(_hear, said))
            page.on("pageerror", partial(_hear_error, said))
            for visit in visits:
                if visit.who == who:
                    said.clear()
                    for trouble in [*_look(page, visit, how), *said]:
                        yield f"{visit.name} ({visit.address}, {how.locale}): {trouble}"


def _window(browser: Browser, url: str, world: World, who: str, how: Look) -> BrowserContext:
    context = browser.new_context(
        base_url=url,
        locale=how.locale,
        timezone_id=ZONE,
        reduced_motion="reduce",
        viewport=how.size,
        color_scheme=how.schemes[0],
    )
    if session := world.clients[who].cookies.get("sessionid"):
        context.add_cookies([{"name": "sessionid", "value": session.value, "url": url}])
    context.add_init_script(WATCH)
    return context


def _hear(said: list[str], message: ConsoleMessage) -> None:
    # a page that says that there is nothing, or not for whom, is meant
    if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
        said.append(message.text)


def _hear_error(said: list[str], error: Error) -> None:
    said.append(str(error))


def _look(page: Page, visit: Visit, how: Look) -> Iterator[str]:
    page.set_viewport_size(how.size)
    page.emulate_media(color_scheme=how.schemes[0])
    moved = _come(page, visit.address)
    if visit.name not in LEADS_ON and not page.url.endswith(visit.address):
        yield f"led to {page.url}"
    # What a page moves by itself moves each time. A busy machine that paints half a page first, now
    # and then.
    if moved >= STILL and all(_come(page, visit.address) >= STILL for _again in range(LOOKS)):
        movers = page.evaluate("window.movers")
        yield f"moved by {moved:.4f} at {how.size['width']} px: {movers}"
    page.evaluate(AXE_SCRIPT)
    for scheme in how.schemes:
        page.emulate_media(color_scheme=scheme)
        drawn(page)
        yield from _inaccessible(page, scheme)
        if how.pictures:
            name = f"{visit.name.replace(' ', '-')}.{how.locale[:2]}.{how.size['width']}.{scheme}"
            page.screenshot(path=how.pictures / f"{name}.png", full_page=True)
    for size in sorted((PHONE, DESK), key=lambda one: one != how.size):
        page.set_viewport_size(size)
        wide = page.evaluate("document.documentElement.scrollWidth")
        if wide > size["width"]:
            yield f"{wide} px wide on {size['width']}"


def _come(page: Page, address: str) -> float:
    """Go there, until all charts are drawn; how much moved meanwhile."""
    page.goto(address)
    drawn(page)
    moved: float = sum(page.evaluate("window.moved"))
    return moved


def _inaccessible(page: Page, scheme: Scheme) -> Iterator[str]:
    if not _violations(page, QUICK):
        return
    for rule in _violations(page, QUICK | {"selectors": True}):
        nodes = ", ".join(str(node["target"]) for node in rule["nodes"][:4])
        yield f"{scheme}: {rule['id']} at {nodes}"


def _violations(page: Page, options: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.evaluate(
        f"axe.run({json.dumps(options)}).then((found) => found.violations)"
    )
    return found
