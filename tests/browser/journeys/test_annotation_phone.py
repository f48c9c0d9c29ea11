"""The annotation page on a phone, and where it stands on every screen."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from projects.models import Category, Item, Question
from projects.services.projects import change_project
from ratings.annotation import rater_messages
from ratings.models import RaterMessage, Rating
from tests.browser.conftest import LAYOUT_SHIFT_SCRIPT, check_accessibility, wait_for_value
from tests.browser.journeys.conftest import PHONE, add_second_question, expect_item

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LONG_TEXT = "many words " * 1500
# the share of the window's height that shows the item
ITEM_SHARE_SCRIPT = """() => {
    const box = document.querySelector(".item-body").getBoundingClientRect();
    return (Math.min(box.bottom, innerHeight) - Math.max(box.top, 0)) / innerHeight;
}"""
# for each visible answer, whether its middle and its corners can be pressed
COVERED_SCRIPT = """() => [...document.querySelectorAll(".is-current .choice")].filter((choice) => {
    choice.scrollIntoView({ block: "nearest" });
    const box = choice.getBoundingClientRect();
    const points = [[0.5, 0.5], [0.05, 0.2], [0.95, 0.8]];
    return points.some(([x, y]) => {
        const hit = document.elementFromPoint(box.left + x * box.width, box.top + y * box.height);
        return !choice.contains(hit);
    });
}).map((choice) => choice.textContent.trim())"""


def add_questions(project: Any, n_questions: int) -> None:
    """Add questions until the project has this number; the last one has many long answers."""
    for position in range(1, n_questions):
        is_last = position == n_questions - 1
        labels = [f"a rather long answer, number {n}" for n in range(8)] if is_last else ["a", "b"]
        question = Question.objects.create(
            project=project, key=f"q{position}", text=f"Question {position}?", position=position
        )
        Category.objects.bulk_create(
            Category(question=question, code=code, label=label, position=code)
            for code, label in enumerate(labels)
        )


def tap_answer(page: Page, number: int = 0) -> None:
    page.locator(".question.is-current .choice").nth(number).tap()
    page.wait_for_timeout(350)  # a double tap must not answer the next question


@pytest.mark.parametrize("n_questions", [1, 2, 6])
@pytest.mark.parametrize("size", [(390, 844), (375, 667), (360, 740)])
def test_item_has_most_of_the_screen_and_no_answer_is_covered(
    open_annotation, annotator, items, project, n_questions, size
):
    Item.objects.filter(pk=items[0].pk).update(body={"text": LONG_TEXT})
    add_questions(project, n_questions)
    options = PHONE | {"viewport": {"width": size[0], "height": size[1]}}
    page = open_annotation(annotator, **options)
    for number in range(n_questions):
        assert page.locator(".question:visible").count() == 1
        assert page.evaluate(ITEM_SHARE_SCRIPT) >= 0.55
        assert page.evaluate(COVERED_SCRIPT) == []
        submit_box = page.get_by_role("button", name="Submit").bounding_box()
        assert submit_box["y"] + submit_box["height"] <= size[1]
        tap_answer(page, number % 2)
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    page.get_by_role("button", name="Submit").tap()
    expect_item(page, 1)
    wait_for_value(Rating.objects.count, n_questions)


@pytest.mark.parametrize("height", [900, 600])
def test_no_answer_is_covered_in_a_window(open_annotation, annotator, items, project, height):
    """Submit once lay over the answers of the last question."""
    add_questions(project, 6)
    page = open_annotation(annotator, viewport={"width": 1440, "height": height})
    for _number in range(6):
        assert page.evaluate(COVERED_SCRIPT) == []
        page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect_item(page, 1)


def test_questions_follow_each_other_and_can_be_changed(open_annotation, annotator, items, project):
    add_second_question(project, "12")
    page = open_annotation(annotator, **PHONE)
    expect(page.locator(".question.is-current legend")).to_have_text("Which severity?")
    before = page.locator(".answers").bounding_box()
    tap_answer(page, 1)
    expect(page.locator(".question.is-current legend")).to_have_text("Is it fluent?")
    assert page.locator(".answers").bounding_box() == before
    page.locator(".steps__one").first.tap()
    expect(page.locator(".question.is-current legend")).to_have_text("Which severity?")
    page.wait_for_timeout(350)
    tap_answer(page, 2)
    tap_answer(page, 1)
    expect(page.locator(".steps__answer")).to_have_text(["major", "no"], use_inner_text=False)
    page.get_by_role("button", name="Submit").tap()
    expect_item(page, 1)
    wait_for_value(lambda: sorted(Rating.objects.values_list("code", flat=True)), [1, 2])


def test_double_tap_answers_one_question(open_annotation, annotator, items, project):
    add_second_question(project, "12")
    page = open_annotation(annotator, **PHONE)
    box = page.locator(".question.is-current .choice").first.bounding_box()
    for _tap in range(2):
        page.touchscreen.tap(box["x"] + 20, box["y"] + 20)
    expect(page.locator(".question.is-current legend")).to_have_text("Is it fluent?")
    page.wait_for_timeout(100)
    assert page.locator("input:checked[data-key]").count() == 1


def test_enter_goes_on_to_the_next_question(open_annotation, annotator, items, project):
    """With the arrow keys, as with a screen reader, a choice does not go on by itself."""
    add_second_question(project, "12")
    page = open_annotation(annotator)
    page.locator(".question.is-current input").first.focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_label("minor")).to_be_checked()
    expect(page.locator(".question.is-current legend")).to_have_text("Which severity?")
    page.keyboard.press("Enter")
    expect(page.locator(".question.is-current legend")).to_have_text("Is it fluent?")
    expect(page.get_by_role("status")).to_be_empty()
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    expect_item(page, 1)
    wait_for_value(lambda: sorted(Rating.objects.values_list("code", flat=True)), [0, 1])


def test_last_answer_submits_where_the_rater_wants_it(open_annotation, annotator, items, project):
    add_second_question(project, "12")
    page = open_annotation(annotator)
    page.locator("summary", has_text="More").click()
    page.get_by_label("Submit after the last answer").check()
    page.keyboard.press("Escape")
    for number in range(3):
        expect_item(page, number)
        page.keyboard.press("3")
        page.keyboard.press("2")
    expect_item(page, 3)
    expect(page.locator(".sheet__progress")).to_contain_text("3 today")
    page.keyboard.press("u")  # the earlier answers are selected again
    expect_item(page, 2)
    page.keyboard.press("Backspace")
    page.keyboard.press("1")  # corrects the first question, and does not submit
    expect_item(page, 2)
    page.keyboard.press("Enter")
    expect_item(page, 3)
    codes = Rating.objects.order_by("item", "question").values_list("code", flat=True)
    wait_for_value(lambda: list(codes.all()), [2, 1, 2, 1, 0, 1])


@pytest.mark.parametrize("width", [1280, 390])
def test_message_covers_nothing_and_is_read_by_key(
    open_annotation, annotator, items, lead, project, width
):
    page = open_annotation(annotator, viewport={"width": width, "height": 800})
    answers_box = page.locator(".answers").bounding_box()
    item_top = page.locator(".item-body").bounding_box()["y"]
    rater_messages.send_messages(
        raters=list(project.raters.filter(key="ann")), text="Hi.\n" * 99, by=lead
    )
    page.reload()
    message = page.locator("#desk-message .message")
    expect(message).to_contain_text("Message from lead")
    assert page.locator(".answers").bounding_box() == answers_box
    item_box, message_box = page.locator(".item-body").bounding_box(), message.bounding_box()
    assert item_box["y"] == item_top
    assert item_box["y"] + item_box["height"] <= message_box["y"]
    assert message_box["y"] + message_box["height"] <= answers_box["y"]
    check_accessibility(page)
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect_item(page, 1)
    expect(page.locator(".message")).to_have_count(1)  # it stays when the next item is shown
    page.keyboard.press("3")
    page.keyboard.press("Escape")
    expect(page.locator(".message")).to_have_count(0)
    expect_item(page, 1)
    assert page.locator("input:checked[data-key]").count() == 1
    assert RaterMessage.objects.filter(read_at=None).count() == 0
    page.keyboard.press("Enter")  # the preloaded item contained it, too
    expect_item(page, 2)
    expect(page.locator(".message")).to_have_count(0)


def test_message_is_read_by_key_as_the_first_thing(
    open_annotation, annotator, items, lead, project
):
    rater_messages.send_messages(
        raters=list(project.raters.filter(key="ann")), text="Short.\nTwo lines.", by=lead
    )
    page = open_annotation(annotator, **PHONE)
    expect(page.locator("#desk-message")).to_contain_text("Short.")
    assert page.evaluate(ITEM_SHARE_SCRIPT) >= 0.55
    page.keyboard.press("Escape")
    expect(page.locator(".message")).to_have_count(0)
    wait_for_value(RaterMessage.objects.filter(read_at=None).count, 0)


@pytest.mark.parametrize("width", [1280, 390])
def test_notices_move_and_cover_neither_item_nor_answers(
    open_annotation, annotator, items, lead, project, width
):
    page = open_annotation(annotator, viewport={"width": width, "height": 800})
    before = page.locator(".answers").bounding_box()
    item_top = page.locator(".item-body").bounding_box()["y"]

    def check(notice: Any, text: str) -> None:
        expect(notice).to_contain_text(text)
        item_box, box = page.locator(".item-body").bounding_box(), notice.bounding_box()
        assert page.locator(".answers").bounding_box() == before
        assert item_box["y"] == item_top
        assert item_box["y"] + item_box["height"] <= box["y"]
        assert box["y"] + box["height"] <= before["y"]

    page.keyboard.press("Enter")
    check(page.locator("#desk-status .toast"), "Choose an answer first")
    page.keyboard.press("Escape")
    expect(page.get_by_role("status")).to_be_empty()
    page.keyboard.press("x")
    page.get_by_role("button", name="Dismiss a message").click()
    expect(page.get_by_role("status")).to_be_empty()
    change_project(project=project, by=lead, guidelines="Look *twice*.")
    page.locator("#desk").dispatch_event("poll")
    check(page.locator("#desk-news"), "Guidelines changed: version 1")
    page.keyboard.press("g")
    expect(page.get_by_role("dialog")).to_contain_text("Look twice.")


def test_skip_and_earlier_answers_are_reached_without_scrolling(open_annotation, annotator, items):
    Item.objects.filter(pk=items[0].pk).update(body={"text": LONG_TEXT})
    page = open_annotation(annotator, **PHONE)
    expect(page.get_by_role("button", name="Previous")).to_be_disabled()  # nothing to go back to
    expect(page.get_by_role("button", name="Undo")).to_be_disabled()
    page.locator("summary", has_text="Skip").tap()
    page.get_by_label("Why skip it?").fill("too long")
    page.get_by_role("button", name="Skip item").tap()
    expect_item(page, 1)
    page.get_by_role("button", name="Undo").tap()
    expect(page.locator(".item-body__text")).to_contain_text("many words")


@pytest.mark.parametrize("options", [PHONE, {"viewport": {"width": 1280, "height": 400}}, {}])
def test_page_does_not_move_while_it_loads(open_annotation, annotator, items, project, options):
    add_second_question(project, "12")
    page = open_annotation(annotator, "guidelines/", **options)
    page.context.add_init_script(LAYOUT_SHIFT_SCRIPT)
    page.goto(page.url.replace("guidelines/", "rate/"))
    page.wait_for_load_state("networkidle")
    assert (page.evaluate("window.moved"), page.evaluate("window.movers")) == ([], [])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_several_questions_are_accessible(open_annotation, annotator, items, project, scheme):
    add_second_question(project, "12")
    page = open_annotation(annotator, color_scheme=scheme, **PHONE)
    tap_answer(page)
    for details in page.locator("details").all():
        details.evaluate("element => { element.open = true; }")
    check_accessibility(page)


def test_all_questions_are_shown_without_javascript(open_annotation, annotator, items, project):
    add_second_question(project, "12")
    page = open_annotation(annotator, java_script_enabled=False, **PHONE)
    for label in ("major", "no"):
        page.get_by_role("radio", name=label, exact=True).check()
    page.get_by_role("button", name="Submit").click()
    expect_item(page, 1)
    page.get_by_role("button", name="Previous").click()
    expect_item(page, 0)
    expect(page.get_by_label("major")).to_be_checked()
    page.locator("summary", has_text="More").click()
    page.get_by_label("Daily goal (items)").fill("20")
    page.get_by_role("button", name="Set goal").click()
    expect(page.locator(".sheet__progress")).to_contain_text("1 of 20 today")
    wait_for_value(lambda: sorted(Rating.objects.values_list("code", flat=True)), [1, 2])
