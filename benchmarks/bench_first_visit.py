"""First contentful paint of a page on a slow line: 400 kbit/s, 400 ms per request.

    python benchmarks/bench_first_visit.py http://127.0.0.1:8000/projects/2/ var/sign-in.txt
    [--times 5]

It visits a running site (`make run`) in Chromium, signed in as `lead` with the password in that
file: first with an empty cache, then again.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from playwright.sync_api import Browser, sync_playwright

NETWORK_CONDITIONS = {
    "offline": False,
    "latency": 400,
    "downloadThroughput": 50_000,
    "uploadThroughput": 50_000,
}
FIRST_PAINT_SCRIPT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
PAGE_SIZE_SCRIPT = "performance.getEntriesByType('navigation')[0].encodedBodySize"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page")
    parser.add_argument("password", type=Path)
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        storage_state = sign_in(browser, options.page, options.password.read_text().strip())
        visits = [
            measure_visits(browser, options.page, storage_state) for _ in range(options.times)
        ]
        browser.close()
    print("| visit | bytes of the page | first sight, ms |")
    print("|---|---|---|")
    for visit, name in enumerate(("first", "second")):
        sizes, times = zip(*(visit_pair[visit] for visit_pair in visits), strict=True)
        print(f"| {name} | {max(sizes):,} | {min(times):.0f} to {max(times):.0f} |")


def sign_in(browser: Browser, page: str, password: str) -> Any:
    """Sign in and return the browser's storage state."""
    context = browser.new_context()
    tab = context.new_page()
    tab.goto(urljoin(page, "/sign-in/"))
    tab.fill("[name=username]", "lead")
    tab.fill("[name=password]", password)
    tab.press("[name=password]", "Enter")
    tab.wait_for_load_state()
    return context.storage_state()


def measure_visits(browser: Browser, page: str, storage_state: Any) -> list[tuple[int, float]]:
    """Return (bytes over the line, first paint in ms) of a first and a second visit."""
    context = browser.new_context(
        viewport={"width": 1440, "height": 900}, storage_state=storage_state
    )
    tab = context.new_page()
    session = context.new_cdp_session(tab)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", NETWORK_CONDITIONS)
    visits = []
    for _visit in range(2):
        tab.goto(page, wait_until="load", timeout=120_000)
        tab.wait_for_function(FIRST_PAINT_SCRIPT)
        visits.append((tab.evaluate(PAGE_SIZE_SCRIPT), tab.evaluate(FIRST_PAINT_SCRIPT)))
    context.close()
    return visits


if __name__ == "__main__":
    main()
