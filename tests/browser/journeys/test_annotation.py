"""An annotator's day at the desk, in a browser, by keyboard and by finger."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, Page, expect

from projects.models import Category, Item, Question
from projects.services import scales
from projects.services.projects import change_project
from projects.services.question_validation import NewCategory
from ratings.annotation import rater_messages
from ratings.models import Assignment, RaterMessage, Rating
from tests.browser.conftest import becomes

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

GUIDELINES = "# What to look for\n\n* **minor**: a slip\n* **major**: the meaning is lost\n"


@pytest.fixture
def items(project: Any) -> list[Item]:
    project.guidelines = GUIDELINES
    project.save()
    return Item.objects.bulk_create(
        Item(project=project, key=f"i{number:02}", body={"text": f"Text number {number}"})
        for number in range(14)
    )


@pytest.fixture
def open_desk(
    browser: Browser, live_server: Any, client_for: Callable[[User], Client], project: Any
) -> Iterator[Any]:
    """``open_desk(user, ...)``: the desk in a window of its own. Afterwards nothing has been
    refused by the policy."""
    contexts, complaints = [], []

    def do(user: User, path: str = "rate/", **options: Any) -> Page:
        context = browser.new_context(**options)
        contexts.append(context)
        cookie = client_for(user).cookies["sessionid"]
        context.add_cookies([{"name": "sessionid", "value": cookie.value, "url": live_server.url}])
        page = context.new_page()
        page.on(
            "console",
            lambda message: (
                complaints.append(message.text) if "Security Policy" in message.text else None
            ),
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{live_server.url}/projects/{project.pk}/{path}")
        return page

    yield do
    for context in contexts:
        context.close()
    assert complaints == []


def shown(page: Page, number: int) -> None:
    expect(page.locator(".item-body__text")).to_have_text(f"Text number {number}")


def stored() -> dict[str, int]:
    return {rating.item.key: rating.code for rating in Rating.objects.select_related("item")}


def set_option(page: Page, name: str, value: str) -> None:
    page.evaluate(
        "([name, value]) => localStorage.setItem(`concord:desk:${name}`, value)", [name, value]
    )


def test_ten_items_by_keyboard_alone(open_desk, annotator, items):
    page = open_desk(annotator)
    codes = [number % 4 for number in range(10)]
    for number, code in enumerate(codes):
        shown(page, number)
        page.keyboard.press(str(code + 1))
        page.keyboard.press("Enter")
    shown(page, 10)
    expect(page.locator(".sheet__progress")).to_contain_text("10 today")
    becomes(stored, {f"i{number:02}": code for number, code in enumerate(codes)})
    assert Rating.objects.filter(seconds__isnull=True).count() == 0


def test_one_key_an_item_when_a_choice_submits(open_desk, annotator, items):
    page = open_desk(annotator)
    page.get_by_text("Keys and settings").click()
    page.get_by_label("One choice submits at once").check()
    for number in range(5):
        shown(page, number)
        page.keyboard.press("2")
    shown(page, 5)
    expect(page.locator(".sheet__progress")).to_contain_text("5 today")
    becomes(stored, {f"i{number:02}": 1 for number in range(5)})


def test_the_next_item_lies_ready(open_desk, annotator, items):
    page = open_desk(annotator)
    expect(page.locator("#desk")).to_have_attribute("data-ready", str(items[1].pk))
    # Answers do not come back any more; the next item is there all the same.
    page.route(
        "**/rate/*/", lambda route: None if route.request.method == "POST" else route.continue_()
    )
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    shown(page, 1)


def test_undo_takes_the_last_answer_back_and_another_is_stored(open_desk, annotator, items):
    page = open_desk(annotator)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    shown(page, 1)
    page.keyboard.press("4")  # half done, and kept while we look back
    page.keyboard.press("u")
    shown(page, 0)
    expect(page.get_by_role("status")).to_contain_text("i00: none, taken back.")
    becomes(stored, {"i00": -1})
    expect(page.get_by_label("none")).to_be_checked()
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    shown(page, 1)
    expect(page.get_by_label("critical")).to_be_checked()
    page.keyboard.press("Enter")
    shown(page, 2)
    expect(page.locator(".sheet__progress")).to_contain_text("2 today")
    becomes(stored, {"i00": 2, "i01": 3})


def test_undo_stays_undo_where_a_question_of_old_has_its_key(open_desk, annotator, items, question):
    question.categories.filter(code=3).update(hotkey="u")
    page = open_desk(annotator)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    shown(page, 1)
    page.keyboard.press("u")
    shown(page, 0)
    assert page.locator("input:checked[data-key='4']").count() == 0


def test_skip_guidelines_and_comment_by_key(open_desk, annotator, items):
    page = open_desk(annotator)
    page.keyboard.press("g")
    expect(page.get_by_role("dialog")).to_contain_text("the meaning is lost")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("s")
    page.keyboard.type("u is no undo here")
    page.keyboard.press("Enter")
    shown(page, 1)
    page.keyboard.press("c")
    page.keyboard.type("2 be seen")
    page.keyboard.press("Escape")
    page.keyboard.press("f")
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    shown(page, 2)
    expect(page.locator(".sheet__progress")).to_contain_text("1 today · 1 rated · 1 skipped")
    becomes(lambda: [one.comment for one in Rating.objects.all()], ["2 be seen"])
    assert Assignment.objects.get(flagged=True).item == items[1]
    assert Assignment.objects.get(state="skipped").skip_reason == "u is no undo here"


def test_the_list_of_keys_names_those_of_the_desk(open_desk, annotator, items):
    page = open_desk(annotator)
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    for words in ("submit", "undo: take the last answer back", "skip with a reason", "guidelines"):
        expect(keys).to_contain_text(words)
    assert Axe().run(page).violations_count == 0
    page.keyboard.press("u")  # they rest while it is open
    expect(page.get_by_role("status")).to_be_empty()


def test_changed_guidelines_are_told_and_one_key_away(open_desk, annotator, items, lead, project):
    page = open_desk(annotator)
    news = page.locator("#desk-news")
    expect(news).to_be_hidden()
    change_project(project=project, by=lead, guidelines="Look *twice*.")
    # The page asks by itself, now and then; here at once.
    page.locator("#desk").dispatch_event("poll")
    expect(news).to_contain_text("Guidelines changed: version 1")
    page.keyboard.press("g")
    expect(page.get_by_role("dialog")).to_contain_text("Look twice.")
    expect(page.locator("#guidelines-body")).to_be_focused()
    expect(news).to_be_hidden()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    change_project(project=project, by=lead, guidelines="Look *three times*.")
    # Or it hears of it with the answer to an item, though the next one lay ready.
    expect(page.locator("#desk")).to_have_attribute("data-ready", str(items[1].pk))
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(news).to_contain_text("Guidelines changed: version 2")
    shown(page, 1)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.locator(".sheet__progress")).to_contain_text("2 today")
    read = Rating.objects.order_by("item").values_list("guidelines", flat=True)
    becomes(lambda: list(read.all()), [1, 2])


def test_who_begins_is_led_to_the_guidelines(open_desk, annotator, items, lead, project):
    change_project(project=project, by=lead, guidelines="Look *twice*.")
    page = open_desk(annotator)
    news = page.locator("#desk-news")
    expect(news).to_contain_text("Before your first item: the guidelines")
    page.keyboard.press("g")
    expect(page.get_by_role("dialog")).to_contain_text("Look twice.")
    page.keyboard.press("Escape")
    expect(news).to_be_hidden()
    page.reload()
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    shown(page, 1)
    expect(news).to_be_hidden()
    page.reload()
    expect(news).to_be_hidden()


def test_who_was_away_is_told_of_changed_guidelines(open_desk, annotator, items, lead, project):
    change_project(project=project, by=lead, guidelines="Look *twice*.")
    page = open_desk(annotator)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.locator(".sheet__progress")).to_contain_text("1 today")
    page.goto("about:blank")
    change_project(project=project, by=lead, guidelines="Look *three times*.")
    page.go_back()
    news = page.locator("#desk-news")
    for _ in range(2):  # until they answer, however often they come
        expect(news).to_contain_text("Guidelines changed: version 2")
        page.reload()
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.locator(".sheet__progress")).to_contain_text("2 today")
    page.reload()
    expect(page.locator("#desk")).to_have_attribute("data-went-by", "2")
    expect(news).to_be_hidden()


def test_who_types_without_looking_is_told_of_changed_answers(
    open_desk, annotator, items, question, lead
):
    page = open_desk(annotator)
    expect(page.locator("#desk")).to_have_attribute("data-ready", str(items[1].pk))
    codes = list(question.categories.order_by("-position").values_list("code", "label"))
    again = [(code, NewCategory(label)) for code, label in codes]
    scales.change_categories(question=question, categories=again, scale="ordinal", by=lead)
    for number in range(2):  # the second lay ready
        shown(page, number)
        expect(page.get_by_role("status")).not_to_contain_text("changed the answers")
        page.keyboard.press("1")
        page.keyboard.press("Enter")
    shown(page, 2)
    expect(page.get_by_role("status")).to_contain_text("The lead has changed the answers")


def test_several_questions_each_with_its_keys(open_desk, annotator, items, project):
    second_question(project, "yn")
    page = open_desk(annotator)
    for number in range(3):
        shown(page, number)
        page.keyboard.press("3")
        page.keyboard.press("n")
        page.keyboard.press("Enter")
    shown(page, 3)
    expect(page.locator(".sheet__progress")).to_contain_text("3 today")
    codes = Rating.objects.order_by("code").values_list("code", flat=True)
    becomes(lambda: list(codes.all()), [1, 1, 1, 2, 2, 2])


def second_question(project: Any, hotkeys: str) -> None:
    question = Question.objects.create(
        project=project, key="fluent", text="Is it fluent?", position=1
    )
    Category.objects.bulk_create(
        Category(question=question, code=code, label=label, position=code, hotkey=hotkeys[code])
        for code, label in enumerate(("yes", "no"))
    )


def said(page: Page) -> list[str]:
    return [
        one.locator("xpath=..").inner_text().split("\n")[0]
        for one in page.locator(".question input:checked").all()
    ]


def test_keys_that_no_two_questions_share_work_at_any_time(open_desk, annotator, items, project):
    second_question(project, "yn")
    page = open_desk(annotator)
    page.keyboard.press("n")  # before the first question
    page.keyboard.press("2")
    assert said(page) == ["minor", "no"]
    page.keyboard.press("3")  # a slip, mended
    page.keyboard.press("y")
    assert said(page) == ["major", "yes"]
    page.keyboard.press("Enter")
    becomes(lambda: sorted(Rating.objects.values_list("code", flat=True)), [0, 2])


def test_a_slip_changes_no_other_answer_and_backspace_goes_back(
    open_desk, annotator, items, project
):
    second_question(project, "12")
    page = open_desk(annotator)
    page.keyboard.press("2")
    page.keyboard.press("3")  # a key of the first question alone
    assert said(page) == ["minor"]
    expect(page.get_by_role("status")).to_contain_text("No answer has the key 3: Is it fluent?")
    page.keyboard.press("Backspace")
    page.keyboard.press("3")
    page.keyboard.press("1")
    assert said(page) == ["major", "yes"]


def test_enter_without_an_answer_says_so(open_desk, annotator, items):
    page = open_desk(annotator)
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Choose an answer first: Which severity?")
    becomes(stored, {})


def test_an_answer_that_cannot_be_stored_comes_back(open_desk, annotator, items):
    page = open_desk(annotator)
    shown(page, 0)
    page.context.set_offline(True)
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Not stored")
    shown(page, 0)
    expect(page.get_by_label("minor")).to_be_checked()
    page.context.set_offline(False)  # it is sent again by itself
    shown(page, 1)
    expect(page.get_by_role("status")).to_be_empty()
    expect(page.locator(".sheet__progress")).to_contain_text("1 today")
    becomes(stored, {"i00": 1})


def test_a_server_that_is_back_gets_what_it_missed(open_desk, annotator, items):
    page = open_desk(annotator)
    page.route("**/rate/**", lambda route: route.abort())
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Not stored")
    page.unroute("**/rate/**")
    page.locator("#desk").dispatch_event("poll")  # the page asks by itself, now and then
    shown(page, 1)
    expect(page.get_by_role("status")).to_be_empty()
    becomes(stored, {"i00": 1})


def test_an_answer_that_was_changed_offline_waits_for_its_rater(open_desk, annotator, items):
    page = open_desk(annotator)
    page.context.set_offline(True)
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Not stored")
    page.keyboard.press("3")
    page.context.set_offline(False)
    expect(page.get_by_role("status")).to_be_empty()
    shown(page, 0)
    page.keyboard.press("Enter")
    shown(page, 1)
    becomes(stored, {"i00": 2})


def test_a_slow_answer_is_said_to_be_on_its_way(open_desk, annotator, items):
    page = open_desk(annotator)
    expect(page.locator("#desk")).to_have_attribute("data-ready", str(items[1].pk))
    held = []

    def hold(route):
        held.append(route)

    page.route(f"**/rate/{items[0].pk}/", hold)
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    shown(page, 1)
    expect(page.get_by_role("status")).to_contain_text("Storing …")
    held[0].continue_()
    expect(page.get_by_role("status")).to_be_empty()
    becomes(stored, {"i00": 1})


def test_a_draft_outlives_the_session(
    open_desk, annotator, items, live_server, client_for, project
):
    page = open_desk(annotator)
    page.keyboard.press("3")
    page.keyboard.press("c")
    page.keyboard.type("half a thought")
    page.context.clear_cookies(name="sessionid")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("status")).to_contain_text("signed out")
    cookie = client_for(annotator).cookies["sessionid"]
    page.context.add_cookies([{"name": "sessionid", "value": cookie.value, "url": live_server.url}])
    page.goto(f"{live_server.url}/projects/{project.pk}/rate/")
    expect(page.get_by_role("status")).to_contain_text("brought back")
    expect(page.get_by_label("major")).to_be_checked()
    expect(page.get_by_label("Comment", exact=True)).to_have_value("half a thought")
    becomes(stored, {})


def test_without_javascript_the_desk_is_plain_forms(open_desk, annotator, items):
    page = open_desk(annotator, java_script_enabled=False)
    expect(page.locator("kbd:visible")).to_have_count(0)  # no key is told that does nothing
    for number in range(2):
        shown(page, number)
        page.get_by_label("major").check()
        page.get_by_role("button", name="Submit").click()
    shown(page, 2)
    page.get_by_role("button", name="Undo").click()
    shown(page, 1)
    expect(page.get_by_text("i01: major, taken back.")).to_be_visible()
    becomes(stored, {"i00": 2, "i01": -1})


def test_a_phone_has_targets_for_a_thumb(open_desk, annotator, items, lead, project):
    page = open_desk(
        annotator, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    targets = ".choice, .sheet .button:visible, .sheet summary:visible"
    header = ".site-header > :is(a, button):visible, .site-header :is(.site-button, .site-person):visible"
    for target in page.locator(f"{targets}, {header}").all():
        box = target.bounding_box()
        assert box["height"] >= 44, target.inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    change_project(project=project, by=lead, guidelines="Look *twice*.")
    page.locator("#desk").dispatch_event("poll")
    news, close = "Guidelines changed: version 1", "Close the guidelines"
    for name, role in ((news, "link"), (close, "button")):
        target = page.get_by_role(role, name=name)
        expect(target).to_be_visible()
        assert target.bounding_box()["height"] >= 44, name
        target.tap()
    expect(page.get_by_role("dialog")).to_be_hidden()
    line = page.locator(".sheet__line").bounding_box()["height"]
    page.locator(".choice", has_text="minor").tap()
    page.get_by_role("button", name="Submit").tap()
    for number in (1, 2):
        shown(page, number)
        page.keyboard.press("2")
        page.keyboard.press("Enter")
    shown(page, 3)
    # The last ones are told apart, and nothing has moved.
    expect(page.locator(".strip__one:visible")).to_have_text(
        ["i02 minor", "i01 minor", "i00 minor"]
    )
    assert page.locator(".sheet__line").bounding_box()["height"] == line
    page.get_by_text("Skip this item").tap()
    assert page.get_by_label("Why? The lead reads it.").bounding_box()["height"] == 44
    # There are no keys, but what is sent at once is chosen here, too.
    page.locator("summary", has_text="Settings").tap()
    expect(page.locator("#desk-sheet").get_by_text("Single keys work")).to_be_hidden()
    expect(page.get_by_text("One choice submits at once")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["rate/", "my-ratings/", "guidelines/"])
def test_nothing_for_axe_to_find(open_desk, annotator, items, scheme, path, question, rate):
    rate(question, "i00", "ann", "minor")
    page = open_desk(annotator, path, color_scheme=scheme)
    for details in page.locator(".sheet details").all():
        details.evaluate("element => { element.open = true; }")
    found = Axe().run(page).response["violations"]
    assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == []


@pytest.mark.parametrize("path", ["rate/", "set-aside/", "data/media/", "guidelines/"])
def test_nothing_for_axe_to_find_by_a_lead(
    open_desk, lead, annotator, client_for, items, project, path
):
    client_for(annotator).get(f"/projects/{project.pk}/rate/")
    client_for(annotator).post(
        f"/projects/{project.pk}/rate/{items[0].pk}/skip/", {"reason": "unclear"}
    )
    for text in ("Look twice.", "Look three times."):
        change_project(project=project, by=lead, guidelines=text)
    page = open_desk(lead, path)
    for details in page.locator("main details").all():
        details.evaluate("element => { element.open = true; }")
    found = Axe().run(page).response["violations"]
    assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == []


def test_item_text_is_never_run(open_desk, annotator, items, project):
    nasty = "<script>window.hit = 1</script><img src=x onerror='window.hit = 1'>"
    Item.objects.filter(pk=items[0].pk).update(
        body={
            "text": nasty,
            "html": f"<p>kept</p>{nasty}<a href='javascript:hit=1'>x</a>",
            nasty: nasty,
        }
    )
    Category.objects.filter(question__project=project, code=0).update(label=nasty)
    page = open_desk(annotator)
    expect(page.locator(".item-body__html")).to_contain_text("kept")
    page.wait_for_load_state("networkidle")
    assert page.evaluate("window.hit") is None


def test_undo_goes_several_steps_back_and_redo_forward(open_desk, annotator, items):
    page = open_desk(annotator)
    for number in range(3):
        shown(page, number)
        page.keyboard.press(str(number + 1))
        page.keyboard.press("Enter")
    shown(page, 3)
    for number in (2, 1, 0):
        page.keyboard.press("u")
        shown(page, number)
    becomes(stored, {"i00": -1, "i01": -1, "i02": -1})
    page.keyboard.press("u")
    expect(page.get_by_role("status")).to_contain_text("nothing to take back")
    page.reload()  # what was taken back is still chosen, and nothing else is asked first
    shown(page, 0)
    expect(page.get_by_label("none")).to_be_checked()
    for number in range(3):
        shown(page, number)
        expect(page.locator(f"input[data-key='{number + 1}']")).to_be_checked()
        page.keyboard.press("Enter")
    shown(page, 3)
    expect(page.locator(".strip")).to_contain_text("i02")
    becomes(stored, {"i00": 0, "i01": 1, "i02": 2})


def test_redo_is_one_press_of_the_message(open_desk, annotator, items):
    page = open_desk(annotator)
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    shown(page, 1)
    page.keyboard.press("u")
    shown(page, 0)
    page.get_by_role("button", name="Redo").click()
    shown(page, 1)
    expect(page.locator(".strip")).to_contain_text("minor")
    becomes(stored, {"i00": 1})


@pytest.mark.parametrize("width", [1280, 390])
def test_a_message_moves_no_answer_and_keeps_the_item(
    open_desk: Any, annotator: User, items: Any, lead: User, project: Any, width: int
) -> None:
    desk = open_desk(annotator, viewport={"width": width, "height": 800})
    first, place = desk.locator(".sheet").get_attribute("data-key"), _place_of_answers(desk)
    rater_messages.send_messages(
        raters=list(project.raters.filter(key="ann")), text="Hi.\n" * 99, by=lead
    )
    desk.reload()
    told = desk.locator("#desk-message .message")
    expect(told).to_contain_text("Message from lead")
    assert _place_of_answers(desk) == place
    card, answers = told.bounding_box(), desk.locator(".question__options").bounding_box()
    assert not _overlap(card, answers)
    assert Axe().run(desk).violations_count == 0
    desk.keyboard.press("2")
    desk.keyboard.press("Enter")
    expect(desk.locator(f".sheet[data-key='{first}']")).to_have_count(0)
    expect(desk.locator(".message")).to_have_count(1)  # it stays from sheet to sheet
    second = desk.locator(".sheet").get_attribute("data-key")
    desk.keyboard.press("3")
    told.get_by_role("button").click()
    expect(desk.locator(".message")).to_have_count(0)
    assert desk.locator(".sheet").get_attribute("data-key") == second
    assert desk.locator(".answers input:checked").count() == 1
    assert RaterMessage.objects.filter(read_at=None).count() == 0
    desk.keyboard.press("Enter")  # the sheet that lay ready brought it, too
    expect(desk.locator(f".sheet[data-key='{second}']")).to_have_count(0)
    expect(desk.locator(".message")).to_have_count(0)


def _place_of_answers(desk: Page) -> Any:
    return desk.locator(".question__options").bounding_box()


def _overlap(one: Any, other: Any) -> bool:
    return all(
        one[start] < other[start] + other[size] and other[start] < one[start] + one[size]
        for start, size in (("x", "width"), ("y", "height"))
    )


def test_who_is_paused_while_rating_is_told_at_once(open_desk, annotator, items, lead, project):
    change_project(project=project, by=lead, guidelines="Look *twice*.")
    page = open_desk(annotator)
    expect(page.locator("#desk-news")).to_be_visible()
    expect(page.locator("#desk")).to_have_attribute("data-ready", str(items[1].pk))
    project.raters.update(paused=True)
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Your rating is paused")).to_be_visible()
    expect(page.locator("#desk-news")).to_be_hidden()
    becomes(stored, {})
    project.raters.update(paused=False)
    page.get_by_role("link", name="Look again").click()
    shown(page, 0)
    expect(page.get_by_label("minor")).to_be_checked()


def test_who_rates_here_no_more_is_told_at_once(open_desk, annotator, items, project):
    page = open_desk(annotator)
    expect(page.locator("#desk")).to_have_attribute("data-ready", str(items[1].pk))
    project.members.filter(user=annotator).update(role="viewer")
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="You do not rate here any more")).to_be_visible()
    becomes(stored, {})


def test_a_second_window_asks_before_it_overwrites(open_desk, annotator, items):
    first, second = open_desk(annotator), open_desk(annotator)
    first.keyboard.press("1")
    first.keyboard.press("Enter")
    shown(first, 1)
    expect(first.locator(".sheet__progress")).to_contain_text("1 today")
    before = second.locator(".choice").first.bounding_box()
    second.keyboard.press("4")
    second.keyboard.press("Enter")
    expect(second.get_by_role("alert").first).to_contain_text("in another window meanwhile: none.")
    shown(second, 0)
    assert second.locator(".choice").first.bounding_box() == before
    becomes(stored, {"i00": 0})
    second.keyboard.press("Enter")  # yes, instead
    shown(second, 1)
    expect(second.locator(".sheet__progress")).to_contain_text("1 today")
    becomes(stored, {"i00": 3})


def test_messages_move_no_answer(open_desk, annotator, items):
    page = open_desk(annotator)
    choice = page.locator(".choice").first
    before = choice.bounding_box()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Choose an answer first")
    assert choice.bounding_box() == before
    page.keyboard.press("u")
    expect(page.get_by_role("status")).to_contain_text("nothing to take back")
    assert choice.bounding_box() == before
    page.get_by_role("button", name="Put this message away").click()
    expect(page.get_by_role("status")).to_be_empty()


def test_on_a_phone_the_answers_stay_under_the_thumb(open_desk, annotator, items):
    Item.objects.filter(pk=items[0].pk).update(body={"text": "many words " * 1500})
    page = open_desk(
        annotator, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    for top in (0, 2000):
        page.evaluate("top => window.scrollTo(0, top)", top)
        for name in (".choice >> nth=0", ".choice >> nth=3", ".answers__send .button"):
            box = page.locator(name).bounding_box()
            assert box["y"] >= 844 / 3, (top, name)
            assert box["y"] + box["height"] <= 844, (top, name)
    page.locator(".choice", has_text="minor").tap()
    page.get_by_role("button", name="Submit").tap()
    shown(page, 1)


def test_a_picture_keeps_its_ratio_and_opens_large(
    open_desk, annotator, lead, items, project, question
):
    wide = b"<svg xmlns='http://www.w3.org/2000/svg' width='1440' height='900'><rect width='1440' height='900' fill='teal'/></svg>"
    Item.objects.filter(pk=items[0].pk).update(body={"image": f"/projects/{project.pk}/media/wide"})
    for user, path in ((annotator, "rate/"), (lead, "items/i00/")):
        page = open_desk(user, "guidelines/")
        page.route("**/media/wide", lambda r: r.fulfill(body=wide, content_type="image/svg+xml"))
        page.goto(page.url.replace("guidelines/", path))
        image = page.locator(".item-body__media")
        expect(image).to_have_js_property("complete", value=True)
        box = image.bounding_box()
        assert box["width"] / box["height"] == pytest.approx(1.6, abs=0.02), path
        image.click()
        large = page.locator(".enlarged img")
        expect(large).to_be_visible()
        assert large.bounding_box()["width"] > box["width"], path
        expect(large).to_have_css("object-fit", "contain")
        page.locator(".enlarged__picture").click()  # its own size
        assert large.bounding_box()["width"] == 1440, path
        page.locator(".enlarged__picture").click()
        assert large.bounding_box()["width"] < 1440, path
        page.keyboard.press("Escape")
        expect(large).to_have_count(0)
    becomes(stored, {})


def test_a_tool_pressed_by_mouse_leaves_enter_to_the_answer(open_desk, annotator, items):
    page = open_desk(annotator)
    page.get_by_role("link", name="Guidelines").click()
    page.keyboard.press("Escape")
    page.get_by_text("Comment or flag").click()
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    shown(page, 1)
    becomes(stored, {"i00": 0})


def test_what_was_written_stays_in_sight(open_desk, annotator, items):
    page = open_desk(annotator)
    page.keyboard.press("c")
    page.keyboard.press("Escape")
    expect(page.locator("#comment")).not_to_be_visible()
    page.keyboard.press("c")
    page.keyboard.type("why")
    page.keyboard.press("Escape")
    expect(page.locator("#comment")).to_be_visible()


def test_a_pressed_button_says_which_answer_is_missing(open_desk, annotator, items):
    page = open_desk(annotator)
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("status")).to_contain_text("Choose an answer first: Which severity?")
    becomes(stored, {})


def test_without_its_cookies_the_browser_is_told_to_sign_in(open_desk, annotator, items):
    page = open_desk(annotator)
    page.context.clear_cookies()
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("you have been signed out")
    expect(page.get_by_role("link", name="Sign in again")).to_be_visible()
    becomes(stored, {})


def test_a_skip_is_heard_as_one(open_desk, annotator, items):
    page = open_desk(annotator)
    page.keyboard.press("s")
    assert page.locator("#reason").bounding_box()["height"] < 48
    page.keyboard.type("broken")
    page.keyboard.press("Enter")
    expect(page.locator("#desk-heard")).to_have_text("Skipped. Now item i01.")
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.locator("#desk-heard")).to_have_text("Stored. Now item i02.")


def test_switched_off_keys_are_not_shown(open_desk, annotator, items):
    page = open_desk(annotator)
    page.keyboard.press("?")
    page.locator("#keys-help").get_by_label("Single keys work").uncheck()
    page.keyboard.press("Escape")
    expect(page.locator(".choice kbd").first).not_to_be_visible()
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Choose an answer first")


def test_on_a_phone_news_lie_over_nothing(open_desk, annotator, items, lead, project):
    page = open_desk(
        annotator, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    button = page.locator(".sheet__tools [data-do=guidelines]")
    change_project(project=project, by=lead, guidelines="Look *twice*.")
    where = button.bounding_box()
    page.locator("#desk").dispatch_event("poll")
    told = "Guidelines changed: version 1"
    expect(button).to_have_text(told, use_inner_text=True)
    assert button.bounding_box() == where
    assert page.locator(".desk__news").bounding_box()["width"] <= 1
    page.locator(".choice", has_text="minor").tap()
    page.get_by_role("button", name="Submit").tap()
    shown(page, 1)
    expect(button).to_have_text(told, use_inner_text=True)  # from sheet to sheet
    button.tap()
    expect(page.get_by_role("dialog")).to_contain_text("Look twice.")
    expect(button.locator("strong")).to_be_empty()
    assert button.bounding_box() == where
