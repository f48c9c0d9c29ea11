"""An annotator's day on the annotation page, in a browser, by keyboard and by touch."""

from __future__ import annotations

import pytest
from playwright.sync_api import APIResponse, Page, Route, expect

from projects.models import Category, Item
from projects.services import questions
from projects.services.projects import change_project
from projects.services.question_validation import NewCategory
from ratings.models import Assignment, Rating
from tests.browser.conftest import check_accessibility, wait_for_value
from tests.browser.journeys.conftest import (
    PHONE,
    add_second_question,
    expect_item,
    get_stored_codes,
    wait_until_ready,
)

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_ten_items_are_rated_by_keyboard_alone(open_annotation, annotator, items):
    page = open_annotation(annotator)
    codes = [number % 4 for number in range(10)]
    for number, code in enumerate(codes):
        expect_item(page, number)
        page.keyboard.press(str(code + 1))
        page.keyboard.press("Enter")
    expect_item(page, 10)
    expect(page.locator(".sheet__progress")).to_contain_text("10 today")
    wait_for_value(get_stored_codes, {f"i{number:02}": code for number, code in enumerate(codes)})
    assert Rating.objects.filter(seconds__isnull=True).count() == 0


def test_one_key_rates_an_item_when_a_choice_submits(open_annotation, annotator, items):
    page = open_annotation(annotator)
    page.locator("summary", has_text="More").click()
    page.get_by_label("Submit after the last answer").check()
    page.keyboard.press("Escape")
    for number in range(5):
        expect_item(page, number)
        page.keyboard.press("2")
    expect_item(page, 5)
    expect(page.locator(".sheet__progress")).to_contain_text("5 today")
    wait_for_value(get_stored_codes, {f"i{number:02}": 1 for number in range(5)})


def test_next_item_is_preloaded(open_annotation, annotator, items):
    page = open_annotation(annotator)
    expect(page.locator("#desk")).to_have_attribute("data-ready", str(items[1].pk))
    # Answers get no response any more; the next item is shown all the same.
    page.route(
        "**/rate/*/", lambda route: None if route.request.method == "POST" else route.continue_()
    )
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    expect_item(page, 1)


def test_undo_reverts_the_last_answer_and_another_is_stored(open_annotation, annotator, items):
    page = open_annotation(annotator)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect_item(page, 1)
    page.keyboard.press("4")  # unfinished, and kept during the undo
    page.keyboard.press("u")
    expect_item(page, 0)
    expect(page.get_by_role("status")).to_contain_text("Undone: none")
    wait_for_value(get_stored_codes, {"i00": -1})
    expect(page.get_by_label("none")).to_be_checked()
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    expect_item(page, 1)
    expect(page.get_by_label("critical")).to_be_checked()
    page.keyboard.press("Enter")
    expect_item(page, 2)
    expect(page.locator(".sheet__progress")).to_contain_text("2 today")
    wait_for_value(get_stored_codes, {"i00": 2, "i01": 3})


def test_reopened_item_is_not_prefetched_a_second_time(open_annotation, annotator, items):
    """A request for further items is answered while the response to the undo is on its way."""
    Item.objects.exclude(pk__in=[item.pk for item in items[:4]]).delete()
    page = open_annotation(annotator)
    wait_until_ready(page, 3)
    held_requests: list[Route] = []
    undo_responses: list[tuple[Route, APIResponse]] = []
    # A built-in method is no handler.
    page.route("**/rate/next/**", lambda route: held_requests.append(route))  # noqa: PLW0108
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect_item(page, 1)
    wait_for_value(get_stored_codes, {"i00": 0})
    page.route("**/rate/undo/**", lambda route: undo_responses.append((route, route.fetch())))
    page.keyboard.press("u")
    for _wait in range(100):  # the routes are held meanwhile
        if not undo_responses:
            page.wait_for_timeout(50)
    page.unroute("**/rate/next/**")
    assert get_stored_codes() == {"i00": -1}
    undo_route, undo_response = undo_responses[0]
    ahead = int(page.locator("#desk").get_attribute("data-ahead"))
    held_requests[0].continue_()
    expect(page.locator("#desk")).to_have_attribute("data-ahead", str(ahead + 1))
    undo_route.fulfill(response=undo_response)
    expect_item(page, 0)
    for number in range(4):
        expect_item(page, number)
        page.keyboard.press("2")
        page.keyboard.press("Enter")
    wait_for_value(get_stored_codes, {f"i{number:02}": 1 for number in range(4)})
    expect(page.locator(".item-body__text")).to_have_count(0)


def test_undo_key_has_priority_over_an_old_hotkey(open_annotation, annotator, items, question):
    question.categories.filter(code=3).update(hotkey="u")
    page = open_annotation(annotator)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect_item(page, 1)
    page.keyboard.press("u")
    expect_item(page, 0)
    assert page.locator("input:checked[data-key='4']").count() == 0


def test_skip_guidelines_and_comment_by_key(open_annotation, annotator, items):
    page = open_annotation(annotator)
    page.keyboard.press("g")
    expect(page.get_by_role("dialog")).to_contain_text("the meaning is lost")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("s")
    page.keyboard.type("u is no undo here")
    page.keyboard.press("Enter")
    expect_item(page, 1)
    page.keyboard.press("c")
    page.keyboard.type("2 be seen")
    page.keyboard.press("Escape")
    page.keyboard.press("f")
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect_item(page, 2)
    expect(page.locator(".sheet__progress")).to_contain_text("1 today · 1 rated · 1 skipped")
    wait_for_value(lambda: [rating.comment for rating in Rating.objects.all()], ["2 be seen"])
    assert Assignment.objects.get(flagged=True).item == items[1]
    assert Assignment.objects.get(state="skipped").skip_reason == "u is no undo here"


def test_list_of_keys_includes_the_annotation_keys(open_annotation, annotator, items):
    page = open_annotation(annotator)
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    for words in ("submit", "undo the last answer", "skip with a reason", "guidelines"):
        expect(keys).to_contain_text(words)
    check_accessibility(page)
    page.keyboard.press("2")  # they do nothing while it is open
    assert page.locator("input:checked[data-key]").count() == 0


def test_changed_guidelines_are_announced_and_open_by_key(
    open_annotation, annotator, items, lead, project
):
    page = open_annotation(annotator)
    news = page.locator("#desk-news")
    expect(news).to_be_hidden()
    change_project(project=project, by=lead, guidelines="Look *twice*.")
    # The page polls now and then; here at once.
    page.locator("#desk").dispatch_event("poll")
    expect(news).to_contain_text("Guidelines changed: version 1")
    page.keyboard.press("g")
    expect(page.get_by_role("dialog")).to_contain_text("Look twice.")
    expect(page.locator("#guidelines-body")).to_be_focused()
    expect(news).to_be_hidden()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    change_project(project=project, by=lead, guidelines="Look *three times*.")
    # Or the response to an answer announces it, although the next item was preloaded.
    expect(page.locator("#desk")).to_have_attribute("data-ready", str(items[1].pk))
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(news).to_contain_text("Guidelines changed: version 2")
    expect_item(page, 1)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.locator(".sheet__progress")).to_contain_text("2 today")
    guideline_versions = Rating.objects.order_by("item").values_list("guidelines", flat=True)
    wait_for_value(lambda: list(guideline_versions.all()), [1, 2])


def test_new_annotator_is_pointed_to_the_guidelines(
    open_annotation, annotator, items, lead, project
):
    change_project(project=project, by=lead, guidelines="Look *twice*.")
    page = open_annotation(annotator)
    news = page.locator("#desk-news")
    expect(news).to_contain_text("Read the guidelines first")
    page.keyboard.press("g")
    expect(page.get_by_role("dialog")).to_contain_text("Look twice.")
    page.keyboard.press("Escape")
    expect(news).to_be_hidden()
    page.reload()
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect_item(page, 1)
    expect(news).to_be_hidden()
    page.reload()
    expect(news).to_be_hidden()


def test_returning_annotator_sees_that_guidelines_changed(
    open_annotation, annotator, items, lead, project
):
    change_project(project=project, by=lead, guidelines="Look *twice*.")
    page = open_annotation(annotator)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.locator(".sheet__progress")).to_contain_text("1 today")
    page.goto("about:blank")
    change_project(project=project, by=lead, guidelines="Look *three times*.")
    page.go_back()
    news = page.locator("#desk-news")
    for _ in range(2):  # at every visit until they answer
        expect(news).to_contain_text("Guidelines changed: version 2")
        page.reload()
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.locator(".sheet__progress")).to_contain_text("2 today")
    page.reload()
    expect(page.locator("#desk")).to_have_attribute("data-last-guidelines", "2")
    expect(news).to_be_hidden()


def test_changed_answers_are_announced_to_a_fast_annotator(
    open_annotation, annotator, items, question, lead
):
    page = open_annotation(annotator)
    wait_until_ready(page, 5)
    codes = list(question.categories.order_by("-position").values_list("code", "label"))
    reversed_categories = [(code, NewCategory(label)) for code, label in codes]
    questions.change_categories(
        question=question, categories=reversed_categories, scale="ordinal", by=lead
    )
    with page.expect_response("**/rate/next/**"):  # the sheets with the old answers are replaced
        page.keyboard.press("1")
        page.keyboard.press("Enter")
    expect_item(page, 1)  # it was on the screen when the answers changed
    expect(page.get_by_role("status")).not_to_contain_text("have changed")
    wait_until_ready(page, 5)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect_item(page, 2)
    expect(page.get_by_role("status")).to_contain_text("The answers have changed")


def test_each_of_several_questions_has_its_own_keys(open_annotation, annotator, items, project):
    add_second_question(project, "yn")
    page = open_annotation(annotator)
    for number in range(3):
        expect_item(page, number)
        page.keyboard.press("3")
        page.keyboard.press("n")
        page.keyboard.press("Enter")
    expect_item(page, 3)
    expect(page.locator(".sheet__progress")).to_contain_text("3 today")
    codes = Rating.objects.order_by("code").values_list("code", flat=True)
    wait_for_value(lambda: list(codes.all()), [1, 1, 1, 2, 2, 2])


def list_checked_labels(page: Page) -> list[str]:
    return [
        option.locator("xpath=..").locator(".choice__label").text_content() or ""
        for option in page.locator(".question input:checked").all()
    ]


def test_unique_keys_of_questions_work_in_any_order(open_annotation, annotator, items, project):
    add_second_question(project, "yn")
    page = open_annotation(annotator)
    page.keyboard.press("n")  # before the first question
    page.keyboard.press("2")
    assert list_checked_labels(page) == ["minor", "no"]
    page.keyboard.press("3")  # corrects a mistake
    page.keyboard.press("y")
    assert list_checked_labels(page) == ["major", "yes"]
    page.keyboard.press("Enter")
    wait_for_value(lambda: sorted(Rating.objects.values_list("code", flat=True)), [0, 2])


def test_wrong_key_changes_no_answer_and_backspace_goes_back(
    open_annotation, annotator, items, project
):
    add_second_question(project, "12")
    page = open_annotation(annotator)
    page.keyboard.press("2")
    page.keyboard.press("3")  # a key of the first question alone
    assert list_checked_labels(page) == ["minor"]
    expect(page.get_by_role("status")).to_contain_text("No answer uses the key 3: Is it fluent?")
    page.keyboard.press("Backspace")
    page.keyboard.press("3")
    page.keyboard.press("1")
    assert list_checked_labels(page) == ["major", "yes"]


def test_enter_without_an_answer_shows_a_message(open_annotation, annotator, items):
    page = open_annotation(annotator)
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Choose an answer first: Which severity?")
    wait_for_value(get_stored_codes, {})


def test_slow_answer_shows_that_it_is_being_stored(open_annotation, annotator, items):
    page = open_annotation(annotator)
    expect(page.locator("#desk")).to_have_attribute("data-ready", str(items[1].pk))
    held_routes = []

    def hold(route):
        held_routes.append(route)

    page.route(f"**/rate/{items[0].pk}/", hold)
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect_item(page, 1)
    expect(page.get_by_role("status")).to_contain_text("Saving …")
    held_routes[0].continue_()
    expect(page.get_by_role("status")).to_be_empty()
    wait_for_value(get_stored_codes, {"i00": 1})


def test_draft_survives_the_end_of_the_session(
    open_annotation, annotator, items, live_server, client_for, project
):
    page = open_annotation(annotator)
    page.keyboard.press("3")
    page.keyboard.press("c")
    page.keyboard.type("half a thought")
    page.context.clear_cookies(name="sessionid")
    page.reload()
    cookie = client_for(annotator).cookies["sessionid"]
    page.context.add_cookies([{"name": "sessionid", "value": cookie.value, "url": live_server.url}])
    page.goto(f"{live_server.url}/projects/{project.pk}/rate/")
    expect(page.get_by_role("status")).to_contain_text("restored")
    expect(page.get_by_label("major")).to_be_checked()
    expect(page.get_by_label("Comment", exact=True)).to_have_value("half a thought")
    wait_for_value(get_stored_codes, {})


def test_annotation_works_as_forms_without_javascript(open_annotation, annotator, items):
    page = open_annotation(annotator, java_script_enabled=False)
    expect(page.locator("kbd:visible")).to_have_count(0)  # no key is shown that does nothing
    for number in range(2):
        expect_item(page, number)
        page.get_by_label("major").check()
        page.get_by_role("button", name="Submit").click()
    expect_item(page, 2)
    page.get_by_role("button", name="Undo").click()
    expect_item(page, 1)
    expect(page.get_by_text("Undone: major")).to_be_visible()
    wait_for_value(get_stored_codes, {"i00": 2, "i01": -1})


def test_touch_targets_are_large_enough_on_a_phone(
    open_annotation, annotator, items, lead, project
):
    page = open_annotation(annotator, **PHONE)
    targets = ".choice, .sheet .button:visible, .sheet summary:visible"
    header = ".site-header > :is(a, button):visible, .site-header :is(.site-button, .site-person):visible"
    for target in page.locator(f"{targets}, {header}").all():
        box = target.bounding_box()
        assert box["height"] > 43.5, target.inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    change_project(project=project, by=lead, guidelines="Look *twice*.")
    page.locator("#desk").dispatch_event("poll")
    for name in ("Read guidelines", "Close guidelines"):
        target = page.get_by_role("button", name=name)
        expect(target).to_be_visible()
        assert target.bounding_box()["height"] > 43.5, name
        target.tap()
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.locator("summary", has_text="Skip").tap()
    assert round(page.get_by_label("Why skip it?").bounding_box()["height"]) == 44
    # There are no keys, but immediate submission is set here, too.
    page.locator("summary", has_text="More").tap()
    expect(page.locator("#desk-sheet").get_by_text("Enable single-key shortcuts")).to_be_hidden()
    expect(page.get_by_text("Submit after the last answer")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["rate/", "my-ratings/", "guidelines/"])
def test_pages_of_annotators_are_accessible(
    open_annotation, annotator, items, scheme, path, question, rate
):
    rate(question, "i00", "ann", "minor")
    page = open_annotation(annotator, path, color_scheme=scheme)
    for details in page.locator(".sheet details").all():
        details.evaluate("element => { element.open = true; }")
    check_accessibility(page)


@pytest.mark.parametrize("path", ["rate/", "skipped/", "data/media/", "guidelines/"])
def test_pages_of_leads_are_accessible(
    open_annotation, lead, annotator, client_for, items, project, path
):
    client_for(annotator).get(f"/projects/{project.pk}/rate/")
    client_for(annotator).post(
        f"/projects/{project.pk}/rate/{items[0].pk}/skip/", {"reason": "unclear"}
    )
    for text in ("Look twice.", "Look three times."):
        change_project(project=project, by=lead, guidelines=text)
    page = open_annotation(lead, path)
    for details in page.locator("main details").all():
        details.evaluate("element => { element.open = true; }")
    check_accessibility(page)


def test_item_text_is_never_executed(open_annotation, annotator, items, project):
    malicious = "<script>window.hit = 1</script><img src=x onerror='window.hit = 1'>"
    Item.objects.filter(pk=items[0].pk).update(
        body={
            "text": malicious,
            "html": f"<p>kept</p>{malicious}<a href='javascript:hit=1'>x</a>",
            malicious: malicious,
        }
    )
    Category.objects.filter(question__project=project, code=0).update(label=malicious)
    page = open_annotation(annotator)
    expect(page.locator(".item-body__html")).to_contain_text("kept")
    page.wait_for_load_state("networkidle")
    assert page.evaluate("window.hit") is None


def test_undo_goes_several_steps_back_and_redo_forward(open_annotation, annotator, items):
    page = open_annotation(annotator)
    for number in range(3):
        expect_item(page, number)
        page.keyboard.press(str(number + 1))
        page.keyboard.press("Enter")
    expect_item(page, 3)
    for number in (2, 1, 0):
        page.keyboard.press("u")
        expect_item(page, number)
    wait_for_value(get_stored_codes, {"i00": -1, "i01": -1, "i02": -1})
    page.keyboard.press("u")
    expect(page.get_by_role("status")).to_contain_text("No earlier answer.")
    page.reload()  # the undone answer is still selected, and no other item comes first
    expect_item(page, 0)
    expect(page.get_by_label("none")).to_be_checked()
    for number in range(3):
        expect_item(page, number)
        expect(page.locator(f"input[data-key='{number + 1}']")).to_be_checked()
        page.keyboard.press("Enter")
    expect_item(page, 3)
    wait_for_value(get_stored_codes, {"i00": 0, "i01": 1, "i02": 2})


def test_button_in_the_message_redoes_the_answer(open_annotation, annotator, items):
    page = open_annotation(annotator)
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect_item(page, 1)
    page.keyboard.press("u")
    expect_item(page, 0)
    page.get_by_role("button", name="Redo").click()
    expect_item(page, 1)
    wait_for_value(get_stored_codes, {"i00": 1})


def test_annotator_paused_while_rating_sees_it_at_once(
    open_annotation, annotator, items, lead, project
):
    change_project(project=project, by=lead, guidelines="Look *twice*.")
    page = open_annotation(annotator)
    expect(page.locator("#desk-news")).to_be_visible()
    expect(page.locator("#desk")).to_have_attribute("data-ready", str(items[1].pk))
    project.raters.update(paused=True)
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Your rating is paused")).to_be_visible()
    expect(page.locator("#desk-news")).to_be_hidden()
    wait_for_value(get_stored_codes, {})
    project.raters.update(paused=False)
    page.get_by_role("link", name="Check again").click()
    expect_item(page, 0)
    expect(page.get_by_label("minor")).to_be_checked()


def test_annotator_removed_while_rating_sees_it_at_once(open_annotation, annotator, items, project):
    page = open_annotation(annotator)
    expect(page.locator("#desk")).to_have_attribute("data-ready", str(items[1].pk))
    project.members.filter(user=annotator).update(role="viewer")
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="You can't rate here anymore")).to_be_visible()
    wait_for_value(get_stored_codes, {})


def test_answers_stay_within_reach_on_a_phone(open_annotation, annotator, items):
    Item.objects.filter(pk=items[0].pk).update(body={"text": "many words " * 1500})
    page = open_annotation(annotator, **PHONE)
    for top in (0, 2000):
        page.locator(".item-body").evaluate("(element, top) => element.scrollTo(0, top)", top)
        for name in (".choice >> nth=0", ".choice >> nth=3", ".answers__send .button"):
            box = page.locator(name).bounding_box()
            assert box["y"] >= 844 / 2, (top, name)
            assert box["y"] + box["height"] <= 844, (top, name)
    page.locator(".choice", has_text="minor").tap()
    page.get_by_role("button", name="Submit").tap()
    expect_item(page, 1)


def test_image_keeps_its_ratio_and_opens_large(
    open_annotation, annotator, lead, items, project, question
):
    svg = b"<svg xmlns='http://www.w3.org/2000/svg' width='1440' height='900'><rect width='1440' height='900' fill='teal'/></svg>"
    Item.objects.filter(pk=items[0].pk).update(body={"image": f"/projects/{project.pk}/media/wide"})
    for user, path in ((annotator, "rate/"), (lead, "items/i00/")):
        page = open_annotation(user, "guidelines/")
        page.route("**/media/wide", lambda r: r.fulfill(body=svg, content_type="image/svg+xml"))
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
    wait_for_value(get_stored_codes, {})


def test_enter_submits_after_a_tool_was_clicked(open_annotation, annotator, items):
    page = open_annotation(annotator)
    page.get_by_role("link", name="Guidelines").click()
    page.keyboard.press("Escape")
    page.get_by_text("Comment or flag").click()
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect_item(page, 1)
    wait_for_value(get_stored_codes, {"i00": 0})


def test_written_comment_stays_visible_and_flags_the_item(open_annotation, annotator, items):
    page = open_annotation(annotator)
    page.keyboard.press("c")
    page.keyboard.press("Escape")
    expect(page.locator("#comment")).not_to_be_visible()
    page.keyboard.press("c")
    page.keyboard.type("why")
    page.keyboard.press("Escape")
    expect(page.locator("#comment")).to_be_visible()
    expect(page.locator("input[name=flagged]")).to_be_checked()
    # A cleared flag stays clear while the comment goes on.
    page.locator("input[name=flagged]").uncheck()
    page.keyboard.press("c")
    page.keyboard.type("?")
    expect(page.locator("input[name=flagged]")).not_to_be_checked()


def test_submit_button_names_the_missing_answer(open_annotation, annotator, items):
    page = open_annotation(annotator)
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("status")).to_contain_text("Choose an answer first: Which severity?")
    wait_for_value(get_stored_codes, {})


def test_signed_out_annotator_is_asked_to_sign_in(open_annotation, annotator, items):
    page = open_annotation(annotator)
    page.context.clear_cookies()
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("You're signed out")
    expect(page.get_by_role("link", name="Sign in again")).to_be_visible()
    wait_for_value(get_stored_codes, {})


def test_skip_is_announced_to_screen_readers(open_annotation, annotator, items):
    page = open_annotation(annotator)
    page.keyboard.press("s")
    assert page.locator("#reason").bounding_box()["height"] < 48
    page.keyboard.type("broken")
    page.keyboard.press("Enter")
    expect(page.locator("#desk-heard")).to_have_text("Skipped. Next: Text number 1")
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.locator("#desk-heard")).to_have_text("Saved. Next: Text number 2")


def test_switched_off_keys_are_not_shown(open_annotation, annotator, items):
    page = open_annotation(annotator)
    page.keyboard.press("?")
    page.locator("#keys-help").get_by_label("Enable single-key shortcuts").uncheck()
    page.keyboard.press("Escape")
    expect(page.locator(".choice kbd").first).not_to_be_visible()
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Choose an answer first")
