"""When a page is first seen on a slow line: 400 kbit/s, 400 ms for each request.

    python benchmarks/bench_first_visit.py http://127.0.0.1:8000/projects/2/ var/sign-in.txt [--times 5]

Looks at a site that runs (`make run`), signed in as `lead` with the password in that file, in
Chromium: at first with nothing kept, then again. What is said is the first contentful paint.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from playwright.sync_api import Browser, sync_playwright

LINE = {"offline": False, "latency": 400, "downloadThroughput": 50_000, "uploadThroughput": 50_000}
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
PAGE = "performance.getEntriesByType('navigation')[0].encodedBodySize"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page")
    parser.add_argument("password", type=Path)
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        signed_in = sign_in(browser, options.page, options.password.read_text().strip())
        seen = [look(browser, options.page, signed_in) for _ in range(options.times)]
        browser.close()
    print("| visit | bytes of the page | first sight, ms |")
    print("|---|---|---|")
    for visit, name in enumerate(("first", "second")):
        sizes, moments = zip(*(one[visit] for one in seen), strict=True)
        print(f"| {name} | {max(sizes):,} | {min(moments):.0f} to {max(moments):.0f} |")


def sign_in(browser: Browser, page: str, password: str) -> Any:
    context = browser.new_context()
    tab = context.new_page()
    tab.goto(urljoin(page, "/sign-in/"))
    tab.fill("[name=username]", "lead")
    tab.fill("[name=password]", password)
    tab.press("[name=password]", "Enter")
    tab.wait_for_load_state()
    return context.storage_state()


def look(browser: Browser, page: str, signed_in: Any) -> list[tuple[int, float]]:
    """Bytes over the line and the first sight, of a first and a second visit."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, storage_state=signed_in)
    tab = context.new_page()
    line = context.new_cdp_session(tab)
    line.send("Network.enable")
    line.send("Network.emulateNetworkConditions", LINE)
    seen = []
    for _visit in range(2):
        tab.goto(page, wait_until="load", timeout=120_000)
        tab.wait_for_function(PAINT)
        seen.append((tab.evaluate(PAGE), tab.evaluate(PAINT)))
    context.close()
    return seen


if __name__ == "__main__":
    main()
