"""The quality pages in a browser, as a lead and as a rater, in both languages.

A failed exam, an appeal, a second attempt, a pause, alerts and their rules. axe finds
nothing on any of these pages, light or dark; they fit a phone and a desktop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Browser, Page, ViewportSize, expect

from metrics.jobs import question_updates
from projects.models import Item, Project, Question, Rater
from projects.services.gold import set_gold_answer
from quality import tasks
from quality.exams import exam_rules
from quality.models import Appeal, DriftState, GoldIntervention, LabelRules
from ratings.models import Exam
from tests.browser.conftest import check_accessibility, wait_for_charts
from tests.cast import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PHONE: ViewportSize = {"width": 390, "height": 844}
DESKTOP: ViewportSize = {"width": 1440, "height": 900}
RIGHT_KEY, WRONG_KEY = "2", "4"
# An exam needs gold items with different right answers; items are drawn in random order.
RIGHT_KEYS = {"Known text 23": "1"}


@pytest.fixture
def sign_in_as(browser: Browser, live_server: Any) -> Iterator[Callable[..., Page]]:
    """``sign_in_as(name, locale)`` opens a page as this user; the console must show no complaints."""
    contexts, complaints = [], []

    def open_page(name: str, locale: str) -> Page:
        context = browser.new_context(
            base_url=live_server.url, locale=locale, reduced_motion="reduce", viewport=DESKTOP
        )
        contexts.append(context)
        page = context.new_page()
        page.on(
            "console",
            lambda message: (
                complaints.append(message.text) if message.type in ("error", "warning") else None
            ),
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto("/sign-in/")
        page.locator("#id_username, [name=username], [name=login]").first.fill(name)
        page.locator("[type=password]").fill(PASSWORD)
        page.keyboard.press("Enter")
        page.wait_for_url(lambda url: "sign-in" not in url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def alert_question(
    project: Project, question: Question, lead: User, rate: Any, make_alert: Any
) -> Question:
    """Thirty items rated by ben and cleo, and 24 gold items for an exam with one try.

    Ben has an open alert, and it is proposed to pause him.
    """
    for number in range(30):
        for rater_index, key in enumerate(("ben", "cleo")):
            label = ("none", "minor", "major")[(number + (number % 5 == rater_index)) % 3]
            rate(question, f"i{number:02}", key, label)
    for number in range(24):
        body = {"text": f"Known text {number}"}
        item = Item.objects.create(project=project, key=f"g{number:02}", body=body)
        set_gold_answer(
            item=item,
            question=question,
            answer=[0 if number == 23 else 1],
            by=lead,
            explanation="See page 3.",
        )
    for number in range(6):
        rate(question, f"g{number:02}", "ben", "critical")
    exam_rules.set_exam_rules(
        question=question, by=lead, required=True, max_attempts=1, everybody=True
    )
    LabelRules.objects.create(question=question, show_to_raters=True, show_after_days=0)
    question_updates.update_question(question.pk)
    tasks.sweep_gold_and_repeats()
    tasks.sweep_alerts()
    tasks.sweep_raters()
    ben = project.raters.get(key="ben")
    make_alert(question, ben)
    DriftState.objects.filter(rater=ben).update(watched=True)
    GoldIntervention.objects.create(
        question=question, rater=ben, step="pause", state="proposed", evidence=140.0, n_answers=6,
        created_at=timezone.now(),
    )  # fmt: skip
    return question


def check_page(page: Page) -> None:
    """Check that the page fits a phone and a desktop, and that axe finds nothing, light and dark."""
    wait_for_charts(page)
    page.wait_for_load_state()  # a page may reload itself when there is more to show
    for size in (PHONE, DESKTOP):
        page.set_viewport_size(size)
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), page.url
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        wait_for_charts(page)
        check_accessibility(page)


@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
def test_failed_exam_is_appealed_and_taken_again(
    sign_in_as: Callable[..., Page], alert_question: Question, project: Project, locale: str
) -> None:
    base = f"/projects/{project.pk}/"
    rater = sign_in_as("annotator", locale)
    fail_and_appeal(rater, base)
    lead = sign_in_as("lead", locale)
    answer_appeal_and_grant_retry(lead, base)
    rater.goto(f"{base}exam/")
    check_page(rater)
    rater.locator(f"main a.button--primary[href='{base}rate/']").click()
    rate_items(rater, 11)
    rater.goto(f"{base}exam/")
    expect(rater.locator("main .badge--good")).to_have_count(11)
    assert Exam.objects.filter(state="passed").count() == 1


def fail_and_appeal(rater: Page, base: str) -> None:
    rater.goto(f"{base}rate/")
    check_page(rater)
    rater.locator(f"form[action='{base}exam/'] button").click()
    check_page(rater)
    rate_items(rater, 5, key=WRONG_KEY)
    heading = rater.locator("#desk-sheet h2").inner_text()
    expect(rater.locator("#desk-heard")).to_have_text(heading)
    check_page(rater)
    rater.locator(f"main a[href='{base}exam/']").click()
    expect(rater.locator("article .badge--bad")).to_have_count(5)
    rater.locator("article details summary").first.click()
    rater.locator("article textarea").first.fill("The text says otherwise.")
    rater.locator("article details[open] button").click()
    expect(rater.get_by_text("The text says otherwise.")).to_be_visible()
    check_page(rater)
    rater.goto(f"{base}rate/")
    check_page(rater)


def answer_appeal_and_grant_retry(lead: Page, base: str) -> None:
    lead.goto(base)
    expect(lead.locator(".site-button__count")).to_have_text("4")  # alert, pause, exam, appeal
    lead.locator(".site-user a[href$='/alerts/']").click()
    for path in ("exams/", "appeals/", "gold/"):
        expect(lead.locator(f"main :not(nav) > a[href^='{base}{path}']")).to_have_count(1)
    lead.locator(f"main :not(nav) > a[href^='{base}appeals/']").click()
    check_page(lead)
    lead.locator("main textarea").first.fill("Read the second line.")
    lead.locator("main form button[value=refused]").click()
    expect(lead.get_by_text("Read the second line.")).to_be_visible()
    assert Appeal.objects.get().state == "refused"
    lead.goto(f"{base}exams/")
    check_page(lead)
    lead.locator("input[name=reason]").first.fill("one more")
    lead.locator("button[value=grant]").click()
    expect(lead.locator("button[value=grant]")).to_have_count(0)
    assert Exam.objects.get(state="open").reason == "one more"


def rate_items(page: Page, times: int, *, key: str | None = None) -> None:
    """Answer items, correctly unless ``key`` is given, and wait until every answer is stored."""
    for _number in range(times):
        text = page.locator(".item-body__text")
        expect(text).to_be_visible()
        before = text.inner_text()
        page.keyboard.press(key or RIGHT_KEYS.get(before.strip(), RIGHT_KEY))
        page.keyboard.press("Enter")
        page.wait_for_function(
            "before => document.querySelector('.item-body__text')?.innerText !== before", arg=before
        )
    # The page shows items that are ready before the answers to earlier ones are stored.
    page.wait_for_function(
        "() => !Object.keys(localStorage).some(key => key.startsWith('concord:outbox:'))"
    )


@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
def test_lead_pauses_a_rater_and_resolves_an_alert(
    sign_in_as: Callable[..., Page],
    alert_question: Question,
    project: Project,
    make_user: Callable[..., User],
    locale: str,
) -> None:
    base = f"/projects/{project.pk}/"
    project.members.create(user=make_user("ben"), role="annotator")
    Rater.objects.filter(key="ben").update(user=User.objects.get(username="ben"))
    lead = sign_in_as("lead", locale)
    for path in ("alerts/", "alerts/settings/", "raters/", f"gold/raters/{get_ben().pk}/", "gold/"):
        lead.goto(f"{base}{path}")
        check_page(lead)
    lead.locator("button[value=carry_out]").click()
    expect(lead.locator("main .badge--warn").first).to_be_visible()
    assert get_ben().paused
    rater = sign_in_as("ben", locale)
    rater.goto(f"{base}rate/")
    check_page(rater)

    lead.goto(f"{base}alerts/")
    lead.locator("main table a").first.click()
    check_page(lead)
    lead.locator("main textarea[name=reason], main input[name=reason]").first.fill("talked to him")
    lead.locator("button[value$=':real']").click()
    expect(lead.get_by_text("talked to him").first).to_be_visible()
    check_page(lead)
    lead.goto(f"{base}gold/")
    lead.locator("input[name=reason]").first.fill("the gold was wrong")
    lead.locator("button[value=override]").first.click()
    expect(lead.locator("button[value=override]")).to_have_count(0)
    assert not get_ben().paused


def get_ben() -> Rater:
    return Rater.objects.get(key="ben")
