"""Annotators who type in rhythm: what fails or comes late never reaches another item."""

from __future__ import annotations

import datetime

import pytest
from playwright.sync_api import Page, Route, expect

from projects.models import Item
from ratings.models import Rating
from tests.browser.conftest import wait_for_value
from tests.browser.journeys.conftest import expect_item, get_stored_codes, wait_until_ready

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def answer(page: Page, key: str) -> None:
    page.keyboard.press(key)
    page.keyboard.press("Enter")


def hold_requests(page: Page, address: str) -> list[Route]:
    """Let requests of this address wait; return the list that they are added to."""
    held_routes: list[Route] = []

    def hold(route: Route) -> None:
        held_routes.append(route)

    page.route(address, hold)
    return held_routes


def test_five_items_are_answered_without_a_connection(open_annotation, annotator, items):
    page = open_annotation(annotator)
    wait_until_ready(page, 5)
    page.context.set_offline(True)
    for number in range(5):
        expect_item(page, number)
        answer(page, str(number % 4 + 1))
    expect_item(page, 5)
    expect(page.get_by_role("status")).to_contain_text(
        "You're offline. Answers are saved on this device: 5."
    )
    wait_for_value(get_stored_codes, {})
    page.context.set_offline(False)  # they are sent by themselves
    expect(page.get_by_role("status")).to_be_empty()
    wait_for_value(get_stored_codes, {f"i{n:02}": n % 4 for n in range(5)})
    # The first was sent, the others waited: nobody knows how long they were visible.
    assert Rating.objects.filter(seconds=None).count() == 5
    expect(page.locator(".sheet__progress")).to_contain_text("5 today")
    expect_item(page, 5)
    wait_until_ready(page, 5)
    answer(page, "1")
    expect_item(page, 6)


def test_last_ready_item_waits_for_the_connection(open_annotation, annotator, items):
    page = open_annotation(annotator)
    wait_until_ready(page, 5)
    page.context.set_offline(True)
    for number in range(6):
        expect_item(page, number)
        answer(page, "2")
    expect(page.get_by_role("status")).to_contain_text("saved on this device: 6.")
    expect_item(page, 5)
    page.keyboard.press("4")  # changed since: it is not sent by itself
    page.context.set_offline(False)
    wait_for_value(lambda: sorted(get_stored_codes()), [f"i{n:02}" for n in range(5)])
    expect(page.get_by_role("status")).to_be_empty()
    expect_item(page, 5)
    page.keyboard.press("Enter")
    expect_item(page, 6)
    wait_for_value(lambda: get_stored_codes().get("i05"), 3)


def test_unsent_answers_outlive_the_page(open_annotation, annotator, items):
    page = open_annotation(annotator)
    wait_until_ready(page, 5)
    page.route("**/rate/*/", lambda route: route.abort())
    for number in range(3):
        expect_item(page, number)
        answer(page, "3")
    expect(page.get_by_role("status")).to_contain_text("saved on this device: 3.")
    page.unroute("**/rate/*/")
    page.reload()
    expect_item(page, 3)
    wait_for_value(get_stored_codes, {f"i{n:02}": 2 for n in range(3)})
    page.reload()
    expect_item(page, 3)
    assert page.evaluate("Object.keys(localStorage).filter((key) => /outbox/.test(key))") == []


def test_answers_are_sent_when_the_server_is_back(open_annotation, annotator, items):
    page = open_annotation(annotator)
    wait_until_ready(page, 5)
    page.route("**/rate/**", lambda route: route.abort())
    answer(page, "2")
    expect(page.get_by_role("status")).to_contain_text("saved on this device: 1.")
    expect_item(page, 1)
    page.unroute("**/rate/**")
    page.locator("#desk").dispatch_event("poll")  # the page polls now and then
    wait_for_value(get_stored_codes, {"i00": 1})
    expect(page.get_by_role("status")).to_be_empty()
    expect_item(page, 1)


def test_unsent_answer_is_undone_without_the_server(open_annotation, annotator, items):
    page = open_annotation(annotator)
    wait_until_ready(page, 5)
    page.context.set_offline(True)
    answer(page, "1")
    expect_item(page, 1)
    page.keyboard.press("u")
    expect_item(page, 0)
    expect(page.get_by_role("status")).to_contain_text("You can change your answer")
    answer(page, "4")
    expect_item(page, 1)
    page.context.set_offline(False)
    wait_for_value(get_stored_codes, {"i00": 3})
    expect_item(page, 1)


def test_images_of_ready_items_are_shown_without_a_connection(
    open_annotation, annotator, items, project
):
    svg = b"<svg xmlns='http://www.w3.org/2000/svg' width='90' height='60'/>"
    for item in items:
        item.body = {"image": f"/projects/{project.pk}/media/{item.key}"}
    Item.objects.bulk_update(items, ["body"])
    page = open_annotation(annotator, "guidelines/")
    headers = {"Cache-Control": "max-age=999"}
    page.route(
        "**/media/*",
        lambda route: route.fulfill(body=svg, content_type="image/svg+xml", headers=headers),
    )
    page.goto(page.url.replace("guidelines/", "rate/"))
    wait_until_ready(page, 5)
    page.wait_for_load_state("networkidle")
    page.context.set_offline(True)
    answer(page, "1")
    image = page.locator(f"img[src$='{items[1].key}']")
    expect(image).to_have_js_property("naturalWidth", 90)


def test_late_conflict_does_not_take_the_keys_of_the_next_item(open_annotation, annotator, items):
    """The answer to the conflict comes while the rater types at the next item."""
    first, second = open_annotation(annotator), open_annotation(annotator)
    wait_until_ready(second, 5)
    answer(first, "1")
    expect(first.locator(".sheet__progress")).to_contain_text("1 today")
    held_routes = hold_requests(second, f"**/rate/{items[0].pk}/")
    answer(second, "4")
    expect_item(second, 1)
    second.keyboard.press("3")
    second.wait_for_timeout(100)
    held_routes[0].continue_()
    status = second.get_by_role("status")
    expect(status).to_contain_text("earlier answer wasn't saved: “Text number 0”")
    expect_item(second, 1)
    second.keyboard.press("2")
    second.keyboard.press("Enter")
    expect_item(second, 2)
    wait_for_value(get_stored_codes, {"i00": 0, "i01": 1})


def test_conflict_is_opened_and_decided_by_the_rater(open_annotation, annotator, items):
    first, second = open_annotation(annotator), open_annotation(annotator)
    wait_until_ready(second, 5)
    answer(first, "1")
    expect(first.locator(".sheet__progress")).to_contain_text("1 today")
    answer(second, "4")
    expect_item(second, 1)
    before = second.locator(".choice").first.bounding_box()
    second.get_by_role("button", name="Open item").click()
    expect(second.get_by_role("alert").first).to_contain_text("in another window: none.")
    expect_item(second, 0)
    assert second.locator(".choice").first.bounding_box() == before
    second.keyboard.press("Enter")  # too early: typed before the rater saw it
    expect_item(second, 0)
    second.wait_for_timeout(500)
    wait_for_value(get_stored_codes, {"i00": 0})
    second.keyboard.press("Enter")  # confirms the overwrite
    expect_item(second, 1)
    wait_for_value(get_stored_codes, {"i00": 3})


def test_server_error_keeps_the_answer_and_the_item(open_annotation, annotator, items):
    page = open_annotation(annotator)
    wait_until_ready(page, 5)
    page.route(
        f"**/rate/{items[0].pk}/", lambda route: route.fulfill(status=500, body="<p>broken</p>")
    )
    answer(page, "2")
    expect(page.get_by_role("status")).to_contain_text("An error occurred.")
    expect_item(page, 1)
    page.unroute(f"**/rate/{items[0].pk}/")
    answer(page, "3")
    expect_item(page, 2)
    wait_for_value(get_stored_codes, {"i00": 1, "i01": 2})
    expect(page.get_by_role("status")).to_be_empty()


def test_signed_out_answers_are_sent_after_the_sign_in(
    open_annotation, annotator, items, live_server, client_for
):
    page = open_annotation(annotator)
    wait_until_ready(page, 5)
    page.context.clear_cookies(name="sessionid")
    answer(page, "3")
    expect(page.get_by_role("status")).to_contain_text("signed out")
    expect_item(page, 1)
    cookie = client_for(annotator).cookies["sessionid"]
    page.context.add_cookies([{"name": "sessionid", "value": cookie.value, "url": live_server.url}])
    page.reload()
    wait_for_value(get_stored_codes, {"i00": 2})
    expect_item(page, 1)


def test_keys_typed_while_an_answer_is_sent_do_nothing(open_annotation, annotator, items):
    """Without an item ready, the answered one stays on the screen until it is stored."""
    page = open_annotation(annotator, "guidelines/")
    page.route("**/rate/next/**", lambda route: route.fulfill(status=204))
    page.goto(page.url.replace("guidelines/", "rate/"))
    held_routes = hold_requests(page, f"**/rate/{items[0].pk}/")
    answer(page, "1")
    expect(page.locator(".sheet")).to_have_class("sheet is-sending")
    answer(page, "4")
    held_routes[0].continue_()
    expect_item(page, 1)
    assert len(held_routes) == 1
    assert page.locator("input:checked[data-key]").count() == 0
    wait_for_value(get_stored_codes, {"i00": 0})


def test_earlier_items_are_looked_at_without_undoing(open_annotation, annotator, items):
    page = open_annotation(annotator)
    for number in range(3):
        expect_item(page, number)
        answer(page, str(number + 1))
    expect_item(page, 3)
    expect(page.locator(".sheet__progress")).to_contain_text("3 today")
    page.keyboard.press("4")  # unfinished
    for number in (2, 1):
        page.keyboard.press("Shift+ArrowLeft")
        expect_item(page, number)
        expect(page.locator(f"input[data-key='{number + 1}']")).to_be_checked()
    stored = {"i00": 0, "i01": 1, "i02": 2}
    assert get_stored_codes() == stored
    page.keyboard.press("Shift+ArrowRight")
    expect_item(page, 3)
    expect(page.get_by_label("critical")).to_be_checked()
    page.get_by_role("button", name="Previous").click()
    expect_item(page, 2)
    page.keyboard.press("1")
    page.get_by_role("button", name="Save change").click()
    expect_item(page, 3)
    wait_for_value(get_stored_codes, stored | {"i02": 0})


def test_break_is_suggested_after_long_work(open_annotation, annotator, items):
    page = open_annotation(annotator, "guidelines/")
    start = datetime.datetime(2026, 3, 2, 9)
    page.clock.install(time=start)
    page.goto(page.url.replace("guidelines/", "rate/"))
    status = page.get_by_role("status")
    for number, minute in enumerate(range(0, 52, 4)):
        page.clock.set_fixed_time(start + datetime.timedelta(minutes=minute))
        expect_item(page, number)
        expect(status).to_be_empty()
        answer(page, "1")
    expect_item(page, 13)
    page.clock.set_fixed_time(start + datetime.timedelta(minutes=52))
    answer(page, "1")
    expect(status).to_contain_text("50 minutes.")
    page.keyboard.press("Escape")
    expect(status).to_be_empty()


def test_pause_begins_the_work_again(open_annotation, annotator, items):
    page = open_annotation(annotator, "guidelines/")
    start = datetime.datetime(2026, 3, 2, 9)
    page.clock.install(time=start)
    page.goto(page.url.replace("guidelines/", "rate/"))
    for minute in (0, 4, 30, 34, 52, 56):
        page.clock.set_fixed_time(start + datetime.timedelta(minutes=minute))
        key = page.locator(".sheet").get_attribute("data-key")
        answer(page, "1")
        expect(page.locator(f".sheet[data-key='{key}']")).to_have_count(0)
    expect(page.get_by_role("status")).to_be_empty()


def test_goal_is_set_and_shown(open_annotation, annotator, items):
    page = open_annotation(annotator)
    page.locator("summary", has_text="More").click()
    page.get_by_label("Daily goal (items)").fill("2")
    page.get_by_role("button", name="Set goal").click()
    progress = page.locator(".sheet__progress")
    expect(progress).to_contain_text("0 of 2 today")
    answer(page, "1")
    expect(progress).to_contain_text("1 of 2 today")
    answer(page, "1")
    expect(progress).to_contain_text("2 of 2 today · Goal reached")


def test_next_item_is_shown_within_a_frame_or_two(open_annotation, annotator, items):
    """Nothing on the way to the next item waits for the server."""
    page = open_annotation(annotator)
    wait_until_ready(page, 5)
    page.route("**/rate/**", lambda route: None)
    for number in range(5):
        expect_item(page, number)
        text = page.evaluate(
            """() => {
                for (const key of ["1", "Enter"]) {
                    const event = new KeyboardEvent("keydown", { key, bubbles: true });
                    document.body.dispatchEvent(event);
                }
                return document.querySelector(".item-body__text").textContent;
            }"""
        )
        assert text == f"Text number {number + 1}"
