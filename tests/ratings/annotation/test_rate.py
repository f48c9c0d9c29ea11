"""The rating page of annotators, through HTTP."""

import datetime
import re
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from projects.models import Category, Item, Member, Project, Question, Rater
from projects.services.projects import change_project
from ratings.annotation import rater_messages
from ratings.models import Assignment, CheckAnswer, Rating, Revision
from tests import query_plans
from tests.query_counts import measure_round_trips

pytestmark = pytest.mark.django_db


@pytest.fixture
def items(project):
    return Item.objects.bulk_create(
        Item(project=project, key=f"i{number}", body={"text": f"Text number {number}"})
        for number in range(4)
    )


@pytest.fixture
def annotator_client(client_for, annotator):
    return client_for(annotator)


@pytest.fixture
def rater(project):
    return Rater.objects.get(key="ann")


@pytest.fixture
def second_question(project):
    question = Question.objects.create(project=project, key="fluency", text="Fluent?", position=1)
    Category.objects.bulk_create(
        Category(question=question, code=code, label=label, position=code)
        for code, label in enumerate(("no", "yes"))
    )
    return question


def get_rate_url(project, item=None, tail=""):
    return f"/projects/{project.pk}/rate/" + (f"{item.pk}/" if item else "") + tail


def build_answer_data(*pairs, **extra):
    return {**{f"question-{question.pk}": code for question, code in pairs}, **extra}


def submit(client, project, item, question, code, **extra):
    return client.post(get_rate_url(project, item), build_answer_data((question, code), **extra))


# --- the next item


def test_next_item_is_shown_with_its_answers_and_keys(annotator_client, project, items):
    page = annotator_client.get(get_rate_url(project)).content.decode()
    assert "Text number 0" in page
    for key, label in enumerate(("none", "minor", "major", "critical"), start=1):
        assert f'data-key="{key}"' in page
        assert f'aria-keyshortcuts="{key}"' in page  # for screen readers
        assert label in page
    assert "Text number 1" not in page


def test_answer_is_stored_and_the_next_item_is_shown(
    annotator_client, project, items, question, rater, annotator
):
    annotator_client.get(get_rate_url(project))
    response = submit(annotator_client, project, items[0], question, 2, comment="hm", flagged="on")
    assert response.status_code == 302
    assert response["Location"] == get_rate_url(project)
    rating = Rating.objects.get()
    assert (rating.item, rating.rater, rating.code, rating.comment) == (items[0], rater, 2, "hm")
    assert rating.seconds is not None and 0 <= rating.seconds < 60
    revision = Revision.objects.get()
    assert (revision.by, revision.source) == (annotator, "form")
    assignment = Assignment.objects.get(item=items[0])
    assert (assignment.state, assignment.flagged) == ("done", True)
    assert "Text number 1" in annotator_client.get(get_rate_url(project)).content.decode()


def test_page_says_when_nothing_is_left(annotator_client, project, items, question):
    for item in items:
        annotator_client.get(get_rate_url(project))
        submit(annotator_client, project, item, question, 0)
    page = annotator_client.get(get_rate_url(project)).content.decode()
    assert "Done for now. Thank you!" in page
    assert "<dt>Total rated</dt><dd>4</dd>" in page


EMPTY_TEXT = ">Check again<"


def test_finished_rater_is_not_told_that_others_are_finished(
    annotator_client, project, items, question
):
    """The remaining items are left for other raters, who have not begun."""
    for item in items[:3]:
        annotator_client.get(get_rate_url(project))
        submit(annotator_client, project, item, question, 0)
    annotator_client.get(get_rate_url(project))  # the last one is before them
    assert "Rate the next item</a>" in annotator_client.get("/").text
    annotator_client.post(get_rate_url(project, items[3], "skip/"), {"reason": "x"})
    home = annotator_client.get("/").text
    assert ("All done" in home, "Rate the next item</a>" in home) == (True, False)
    for page in (
        annotator_client.get(get_rate_url(project)),
        annotator_client.get(get_rate_url(project), HTTP_X_ANNOTATION="sheet"),
    ):
        assert EMPTY_TEXT in page.text
    Item.objects.create(project=project, key="later", body={"text": "x"})
    Item.objects.filter(key="later").update(slots_taken=99)
    assert EMPTY_TEXT in annotator_client.get(get_rate_url(project)).text
    home = annotator_client.get("/").text
    assert "No items left for you" in home and "All done" not in home


def test_page_without_items_does_not_say_that_all_are_rated(
    annotator_client, client_for, lead, project, items, question
):
    """One item is skipped by the only rater and lacks ratings; the lead's list says what follows."""
    for item in items[:3]:
        annotator_client.get(get_rate_url(project))
        submit(annotator_client, project, item, question, 0)
    annotator_client.get(get_rate_url(project))
    annotator_client.post(get_rate_url(project, items[3], "skip/"), {"reason": "x"})
    Item.objects.create(project=project, key="full", slots_taken=99)
    page = annotator_client.get(get_rate_url(project)).text
    assert EMPTY_TEXT in page and "rated or being rated" not in page
    skipped_page = client_for(lead).get(f"/projects/{project.pk}/skipped/").text
    assert "Skipped items go to other raters." in skipped_page


def test_submitting_twice_stores_one_rating(annotator_client, project, items, question):
    annotator_client.get(get_rate_url(project))
    for _ in range(2):
        assert submit(annotator_client, project, items[0], question, 2).status_code == 302
    assert Rating.objects.count() == Revision.objects.count() == 1


def test_several_questions_are_answered_on_one_page(
    annotator_client, project, items, question, second_question
):
    annotator_client.get(get_rate_url(project))
    response = annotator_client.post(
        get_rate_url(project, items[0]),
        build_answer_data((question, 3), (second_question, 1), comment="both"),
    )
    assert response.status_code == 302
    stored = {rating.question_id: (rating.code, rating.comment) for rating in Rating.objects.all()}
    assert stored == {question.pk: (3, "both"), second_question.pk: (1, "")}


def test_my_ratings_lists_questions_in_project_order(
    annotator_client, project, items, question, second_question
):
    annotator_client.get(get_rate_url(project))
    annotator_client.post(
        get_rate_url(project, items[0]), build_answer_data((question, 3), (second_question, 1))
    )
    page = annotator_client.get(f"/projects/{project.pk}/my-ratings/").text
    labels = re.findall(r'own__answer">(.*?)<', page)
    assert labels == ["critical", "yes"]


def test_each_question_has_its_own_keys(annotator_client, project, items, second_question):
    page = annotator_client.get(get_rate_url(project)).content.decode()
    assert page.count('data-key="1"') == 2


def test_reserved_hotkey_of_an_old_question_is_replaced(annotator_client, project, items, question):
    question.categories.filter(code=1).update(hotkey="u")
    question.categories.filter(code=2).update(hotkey="G")
    page = annotator_client.get(get_rate_url(project)).content.decode()
    assert re.findall(r'data-key="(.)"', page) == ["1", "2", "3", "4"]


def test_seconds_of_a_prefetched_item_start_at_the_last_answer(
    annotator_client, project, items, question, rater
):
    now = timezone.now()
    annotator_client.get(get_rate_url(project))
    Assignment.objects.update(created_at=now - datetime.timedelta(seconds=600))
    rater.queue.last_closed_at = now - datetime.timedelta(seconds=20)
    rater.queue.save()
    submit(annotator_client, project, items[0], question, 2)
    seconds = Rating.objects.get().seconds
    assert seconds is not None and 20 <= seconds < 60


def test_seconds_are_never_more_than_a_lease(annotator_client, project, items, question, settings):
    annotator_client.get(get_rate_url(project))
    Assignment.objects.update(created_at=timezone.now() - datetime.timedelta(days=2))
    submit(annotator_client, project, items[0], question, 2)
    assert Rating.objects.get().seconds == settings.LEASE_SECONDS


# --- bad input changes nothing


@pytest.mark.parametrize("code", ["9", "-1", "", "two", "0.5", "\x00", "9" * 400])
def test_an_unknown_answer_is_refused(annotator_client, project, items, question, code):
    annotator_client.get(get_rate_url(project))
    response = submit(annotator_client, project, items[0], question, code)
    assert response.status_code == 400
    assert (
        "Choose an answer." in response.content.decode()
        or "none, minor, major, critical" in response.content.decode()
    )
    assert not Rating.objects.exists()


def test_incomplete_answer_is_refused_and_keeps_the_input(
    annotator_client, project, items, question, second_question
):
    annotator_client.get(get_rate_url(project))
    response = submit(annotator_client, project, items[0], question, 2, comment="half")
    assert response.status_code == 400
    page = response.content.decode()
    assert "half" in page
    assert (
        f'id="question-{question.pk}-2" name="question-{question.pk}" value="2" data-key="3" '
        "checked" in page
    )
    assert not Rating.objects.exists()


def test_a_comment_with_a_nul_is_refused(annotator_client, project, items, question):
    annotator_client.get(get_rate_url(project))
    assert (
        submit(annotator_client, project, items[0], question, 2, comment="a\x00b").status_code
        == 400
    )
    assert not Rating.objects.exists()


def test_a_category_removed_meanwhile_is_refused(annotator_client, project, items, question):
    annotator_client.get(get_rate_url(project))
    question.categories.filter(code=2).update(retired=True)
    assert submit(annotator_client, project, items[0], question, 2).status_code == 400
    assert not Rating.objects.exists()


def test_unassigned_item_is_not_found(annotator_client, project, items, question):
    annotator_client.get(get_rate_url(project))
    assert annotator_client.get(get_rate_url(project, items[1])).status_code == 404
    assert submit(annotator_client, project, items[1], question, 2).status_code == 404
    assert (
        annotator_client.post(get_rate_url(project, items[1], "skip/"), {"reason": "x"}).status_code
        == 404
    )
    assert not Rating.objects.exists()


def test_item_of_another_project_is_not_found(
    annotator_client, project, items, question, make_project, annotator
):
    other_project = make_project("Other")
    foreign_item = Item.objects.create(project=other_project, key="f", body={"text": "x"})
    foreign_rater = Rater.objects.create(project=other_project, key="ann", user=annotator)
    Assignment.objects.create(item=foreign_item, rater=foreign_rater, leased_until=timezone.now())
    assert submit(annotator_client, project, foreign_item, question, 2).status_code == 404
    assert annotator_client.get(get_rate_url(other_project)).status_code == 404
    assert not Rating.objects.exists()


def test_invalid_page_number_shows_a_page(annotator_client, project, items):
    for page in ("0", "-1", "99999999999999999999", "x"):
        assert (
            annotator_client.get(f"/projects/{project.pk}/my-ratings/?page={page}").status_code
            == 200
        )
    for number in ("-1", "x", "9" * 30, "١"):
        assert (
            annotator_client.get(get_rate_url(project, tail=f"next/?showing={number}")).status_code
            == 200
        )
        assert (
            annotator_client.get(get_rate_url(project, tail=f"undo/?before={number}")).status_code
            == 302
        )


# --- skip


def test_skip_stores_its_reason_and_shows_the_next_item(
    annotator_client, project, items, client_for, lead
):
    annotator_client.get(get_rate_url(project))
    response = annotator_client.post(
        get_rate_url(project, items[0], "skip/"), {"reason": "cannot read it"}
    )
    assert response.status_code == 302
    assert "Text number 1" in annotator_client.get(get_rate_url(project)).content.decode()
    assert not Rating.objects.exists()
    assert Item.objects.get(key="i0").slots_taken == 0
    page = client_for(lead).get(f"/projects/{project.pk}/skipped/").content.decode()
    assert "cannot read it" in page
    assert "i0" in page


def test_the_lead_reads_why_an_item_was_flagged(
    annotator_client, project, items, question, client_for, lead, django_assert_num_queries
):
    """Show the comment of the rater who flagged the item.

    The number of queries does not depend on the number of items.
    """
    list_url, lead_client = f"/projects/{project.pk}/skipped/", client_for(lead)
    lead_client.get(list_url)  # fill the caches
    for number, item in enumerate(items[:3]):
        annotator_client.get(get_rate_url(project))
        flag_data = {"flagged": "on"} if number != 1 else {}
        submit(
            annotator_client,
            project,
            item,
            question,
            2,
            comment=f"Cut off at {number}",
            **flag_data,
        )
        if number == 0:
            with CaptureQueriesContext(connection) as queries:
                assert "Cut off at 0" in lead_client.get(list_url).text
            n_queries = len(queries)
    other_rater = Rater.objects.create(project=project, key="other")
    now = timezone.now()
    Rating.objects.create(
        question=question, item=items[0], rater=other_rater, code=1, comment="Said by who flagged none",
        rated_at=now, changed_at=now, day=0,
    )  # fmt: skip
    with django_assert_num_queries(n_queries):
        page = lead_client.get(list_url).text
    assert page.index("Cut off at 2") < page.index("Cut off at 0")
    assert "Cut off at 1" not in page
    assert "Said by who flagged none" not in page


def test_a_resolved_flag_leaves_all_lists_until_the_item_is_flagged_again(
    annotator_client, project, items, question, client_for, lead, stranger
):
    list_url, lead_client = f"/projects/{project.pk}/skipped/", client_for(lead)
    annotator_client.get(get_rate_url(project))
    submit(annotator_client, project, items[0], question, 2, comment="Cut off", flagged="on")
    annotator_client.get(get_rate_url(project))
    skip_url = f"{get_rate_url(project)}{items[1].pk}/skip/"
    assert annotator_client.post(skip_url, {"reason": "Blank"}).status_code == 302
    flag, skip = Assignment.objects.skipped_or_flagged_in(project).order_by("closed_at")
    resolve_url = f"{list_url}resolve/"
    for client, status in ((annotator_client, 403), (client_for(stranger), 404)):
        assert client.post(resolve_url, {"assignment": flag.pk}).status_code == status
    for bad_id in ("", "x", "\0", "9" * 19):
        assert lead_client.post(resolve_url, {"assignment": bad_id}).status_code == 404
    assert lead_client.get(list_url).text.count('name="assignment"') == 2
    item_page = lead_client.get(f"/projects/{project.pk}/items/{items[0].key}/").text
    assert "flagged" in item_page and "Cut off" in item_page
    assert f'name="assignment" value="{flag.pk}">Resolve<' in item_page
    for assignment in (flag, skip):
        assert lead_client.post(resolve_url, {"assignment": assignment.pk})["Location"] == list_url
    assert "No skipped or flagged items" in lead_client.get(list_url).text
    assert "skipped or flagged" not in lead_client.get("/inbox/").text
    skip.refresh_from_db()
    assert (skip.state, skip.skip_reason) == ("skipped", "Blank"), "the rater still finds it"
    # The same flag, sent again, stays resolved; a new one is listed.
    submit(annotator_client, project, items[0], question, 1, comment="Cut off", flagged="on")
    assert not Assignment.objects.skipped_or_flagged_in(project).exists()
    submit(annotator_client, project, items[0], question, 1, comment="Cut off")
    submit(annotator_client, project, items[0], question, 1, comment="Still", flagged="on")
    assert Assignment.objects.skipped_or_flagged_in(project).get() == flag


@pytest.mark.parametrize("is_check", [False, True])
def test_flag_comment_of_a_check_is_that_of_its_check_answer(
    annotator_client, project, items, question, client_for, lead, rater, is_check
):
    annotator_client.get(get_rate_url(project))
    submit(annotator_client, project, items[0], question, 2, comment="As a rating", flagged="on")
    now = timezone.now()
    CheckAnswer.objects.create(
        question=question, item=items[0], rater=rater, kind="gold", code=1, comment="As a test",
        rated_at=now, changed_at=now, source="form",
    )  # fmt: skip
    Assignment.objects.filter(item=items[0]).update(kind="gold" if is_check else "")
    page = client_for(lead).get(f"/projects/{project.pk}/skipped/").text
    assert ("As a test" in page, "As a rating" in page) == (is_check, not is_check)


@pytest.mark.parametrize("reason", ["", "   ", "x" * 301, "a\x00"])
def test_skip_without_a_valid_reason_is_refused(annotator_client, project, items, reason):
    annotator_client.get(get_rate_url(project))
    assert (
        annotator_client.post(
            get_rate_url(project, items[0], "skip/"), {"reason": reason}
        ).status_code
        == 400
    )
    assert Assignment.objects.get().state == "open"


def test_skipping_twice_stores_one_skip(annotator_client, project, items):
    annotator_client.get(get_rate_url(project))
    for _ in range(2):
        assert (
            annotator_client.post(
                get_rate_url(project, items[0], "skip/"), {"reason": "x"}
            ).status_code
            == 302
        )
    assert Assignment.objects.filter(state="skipped").count() == 1


def test_rated_item_cannot_be_skipped(annotator_client, project, items, question):
    annotator_client.get(get_rate_url(project))
    submit(annotator_client, project, items[0], question, 2)
    assert (
        annotator_client.post(get_rate_url(project, items[0], "skip/"), {"reason": "x"}).status_code
        == 409
    )
    assert Assignment.objects.get(item=items[0]).state == "done"


def test_skipped_item_can_be_rated_later(annotator_client, project, items, question):
    annotator_client.get(get_rate_url(project))
    annotator_client.post(get_rate_url(project, items[0], "skip/"), {"reason": "not now"})
    assert "not now" in annotator_client.get(get_rate_url(project, items[0])).content.decode()
    assert submit(annotator_client, project, items[0], question, 1).status_code == 302
    assert Rating.objects.get().code == 1
    assert Item.objects.get(key="i0").slots_taken == 1


def test_skipped_item_is_not_offered_once_others_filled_it(
    annotator_client, project, items, question, rate
):
    """Otherwise the page would accept an answer that is then refused."""
    annotator_client.get(get_rate_url(project))
    annotator_client.post(get_rate_url(project, items[0], "skip/"), {"reason": "not now"})
    list_url = f"/projects/{project.pk}/my-ratings/?show=skipped"
    item_url = get_rate_url(project, items[0])
    assert f'href="{item_url}"' in annotator_client.get(list_url).text
    rate_by_others(question, rate, "x", "y")
    Project.objects.filter(pk=project.pk).update(overlap=2)
    assert f'href="{item_url}"' not in annotator_client.get(list_url).text
    page = annotator_client.get(item_url).text
    assert "You skipped this item" in page
    assert 'id="answers"' not in page


# --- time out


def rate_by_others(question, rate, *raters):
    for rater in raters:
        rate(question, "i0", rater, "none")


def test_late_answer_counts_while_a_slot_is_free(annotator_client, project, items, question):
    annotator_client.get(get_rate_url(project))
    Assignment.objects.update(state="expired", closed_at=timezone.now())
    assert submit(annotator_client, project, items[0], question, 1).status_code == 302
    assert Rating.objects.get().code == 1


def test_late_answer_is_refused_when_others_filled_the_slots(
    annotator_client, project, items, question, rate
):
    annotator_client.get(get_rate_url(project))
    Assignment.objects.update(state="expired", closed_at=timezone.now())
    rate_by_others(question, rate, "x", "y", "z")
    response = submit(annotator_client, project, items[0], question, 1)
    assert response.status_code == 409
    assert "Your time ran out" in response.content.decode()
    assert Rating.objects.filter(item=items[0]).count() == 3


# --- undo and my ratings


def test_undo_brings_the_last_item_back_with_its_answer(annotator_client, project, items, question):
    annotator_client.get(get_rate_url(project))
    submit(annotator_client, project, items[0], question, 2, comment="first thought")
    annotator_client.get(get_rate_url(project))
    response = annotator_client.get(get_rate_url(project, tail="undo/"), follow=True)
    page = response.content.decode()
    assert "Text number 0" in page
    assert "first thought" in page
    assert 'value="2" data-key="3" checked' in page
    submit(annotator_client, project, items[0], question, 3, comment="second thought")
    rating = Rating.objects.get()
    assert (rating.code, rating.comment) == (3, "second thought")
    assert Revision.objects.count() == 2


def test_undo_goes_back_step_by_step(annotator_client, project, items, question):
    for item in items[:3]:
        annotator_client.get(get_rate_url(project))
        submit(annotator_client, project, item, question, 2)
    for before, expected in ((items[3], items[2]), (items[2], items[1]), (items[1], items[0])):
        response = annotator_client.get(get_rate_url(project, tail=f"undo/?before={before.pk}"))
        assert response["Location"] == get_rate_url(project, expected)
    assert annotator_client.get(get_rate_url(project, tail=f"undo/?before={items[0].pk}"))[
        "Location"
    ] == get_rate_url(project)


def test_correcting_keeps_the_time_spent(annotator_client, project, items, question):
    annotator_client.get(get_rate_url(project))
    submit(annotator_client, project, items[0], question, 2)
    Rating.objects.update(seconds=12.5)
    submit(annotator_client, project, items[0], question, 1)
    assert Rating.objects.get().seconds == 12.5


def test_my_ratings_lists_only_own_ratings(annotator_client, project, items, question, rate):
    rate(question, "i0", "ann", "major")
    rate(question, "i1", "somebody", "critical")
    page = annotator_client.get(f"/projects/{project.pk}/my-ratings/").content.decode()
    assert "Text number 0" in page
    assert "major" in page
    assert "Text number 1" not in page
    assert "critical" not in page


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("", ["i2", "i1", "i0"]),
        ("?search=NUMBER 1", ["i1"]),
        ("?search=i2", ["i2"]),
        ("?search=text", ["i2", "i1", "i0"]),  # the text of a part is searched, not its name
        ("?search=nothing such", []),
        ("?show=flagged", ["i1"]),
        ("?show=comment", ["i2"]),
        ("?show=changed", ["i0"]),
        ("?show=changed&search=i1", []),
        ("?show=odd", ["i2", "i1", "i0"]),
    ],
)
def test_my_ratings_can_be_searched_and_filtered(
    annotator_client, project, items, question, query, keys
):
    annotator_client.get(get_rate_url(project))
    submit(annotator_client, project, items[0], question, 2)
    submit(annotator_client, project, items[0], question, 1)
    for number, extra in ((1, {"flagged": "on"}), (2, {"comment": "why"})):
        annotator_client.get(get_rate_url(project))
        assert (
            submit(annotator_client, project, items[number], question, 1, **extra).status_code
            == 302
        )
    Rating.objects.filter(item=items[0]).update(changed_at="2026-01-01T00:00:00Z")
    Revision.objects.filter(rating__item=items[0]).update(recorded_at="2025-12-31T00:00:00Z")
    response = annotator_client.get(f"/projects/{project.pk}/my-ratings/{query}")
    assert [row["item"].key for row in response.context["rows"]] == keys
    page = response.content.decode().split('<ul class="card own">')[-1]
    assert (page.count(">flagged</span>"), page.count(">edited</span>")) == (
        "i1" in keys,
        "i0" in keys,
    )
    assert response.context["search"] == query.partition("search=")[2].partition("&")[0]


def test_undone_answer_given_again_is_not_marked_as_changed(
    annotator_client, project, items, question
):
    for number in range(2):
        annotator_client.get(get_rate_url(project))
        submit(annotator_client, project, items[number], question, 1)
    for code in (1, 2):
        annotator_client.post(
            get_rate_url(project, tail="undo/"), {}, headers={"X-Annotation": "sheet"}
        )
        submit(annotator_client, project, items[1], question, code)
        rows = annotator_client.get(f"/projects/{project.pk}/my-ratings/?show=changed").context[
            "rows"
        ]
        assert [row["item"].key for row in rows] == (["i1"] if code == 2 else [])


def test_skipped_item_is_listed_and_can_be_rated(annotator_client, project, items, question):
    address = f"/projects/{project.pk}/my-ratings/?show=skipped"
    assert "No matches." in annotator_client.get(address).content.decode()
    annotator_client.get(get_rate_url(project))
    annotator_client.post(get_rate_url(project, items[0], "skip/"), {"reason": "no answer fits"})
    progress = annotator_client.get(get_rate_url(project)).content.decode()
    assert f'href="{address}"' in progress
    page = annotator_client.get(address).content.decode()
    assert "Text number 0" in page and "no answer fits" in page
    assert get_rate_url(project, items[0]) in page
    assert "Text number 0" not in annotator_client.get(f"{address}&search=i1").content.decode()
    assert submit(annotator_client, project, items[0], question, 1).status_code == 302
    assert "Text number 0" not in annotator_client.get(address).content.decode()


def test_answers_to_one_item_share_one_row(annotator_client, project, items, question):
    tone_question = Question.objects.create(
        project=project, key="tone", text="Tone?", scale="nominal"
    )
    for code, label in enumerate(("kind", "rude")):
        tone_question.categories.create(code=code, label=label, position=code)
    annotator_client.get(get_rate_url(project))
    data = build_answer_data((question, 1), (tone_question, 0))
    assert annotator_client.post(get_rate_url(project, items[0]), data).status_code == 302
    (row,) = annotator_client.get(f"/projects/{project.pk}/my-ratings/").context["rows"]
    assert sorted(answer["label"] for answer in row["answers"]) == ["kind", "minor"]


def test_item_with_one_changed_answer_stays_in_one_row(
    annotator_client, project, items, question, second_question
):
    for item in items[:2]:
        annotator_client.get(get_rate_url(project))
        annotator_client.post(
            get_rate_url(project, item), build_answer_data((question, 1), (second_question, 0))
        )
    annotator_client.post(
        get_rate_url(project, items[0]), build_answer_data((question, 1), (second_question, 1))
    )
    list_url = f"/projects/{project.pk}/my-ratings/"
    rows = annotator_client.get(list_url).context["rows"]
    assert [row["item"] for row in rows] == [items[0], items[1]]
    for query in ("", "?show=changed"):
        row = annotator_client.get(list_url + query).context["rows"][0]
        row_answers = [(answer["label"], answer["changed"]) for answer in row["answers"]]
        assert row_answers == [("minor", False), ("yes", True)]


def test_own_rating_from_another_source_can_be_changed(
    annotator_client, project, items, question, rate
):
    rate(question, "i0", "ann", "major")
    assert submit(annotator_client, project, items[0], question, 0).status_code == 302
    assert Rating.objects.get().code == 0


def test_closed_corrections_allow_new_ratings_only(annotator_client, project, items, question):
    project.allows_corrections = False
    project.save()
    annotator_client.get(get_rate_url(project))
    assert submit(annotator_client, project, items[0], question, 2).status_code == 302
    assert submit(annotator_client, project, items[0], question, 2).status_code == 302
    assert submit(annotator_client, project, items[0], question, 1).status_code == 403
    assert Rating.objects.get().code == 2
    assert (
        "Change</a>"
        not in annotator_client.get(f"/projects/{project.pk}/my-ratings/").content.decode()
    )
    page = annotator_client.get(get_rate_url(project, items[0])).text
    assert 'id="answers"' not in page and '<p class="said__answer">major</p>' in page


# --- permissions


PAGES = ["rate/", "rate/next/", "rate/undo/", "rate/1/", "my-ratings/"]


@pytest.mark.parametrize("page", [*PAGES, "skipped/"])
def test_stranger_gets_not_found(page, client_for, stranger, project):
    assert client_for(stranger).get(f"/projects/{project.pk}/{page}").status_code == 404


@pytest.mark.parametrize("page", [*PAGES, "skipped/"])
def test_pages_require_sign_in(page, client, project):
    assert client.get(f"/projects/{project.pk}/{page}").status_code == 302


@pytest.mark.parametrize("page", [*PAGES, "skipped/"])
def test_viewer_is_forbidden(page, client_for, viewer, project):
    assert client_for(viewer).get(f"/projects/{project.pk}/{page}").status_code == 403


def test_annotator_cannot_see_skipped_and_flagged_items(annotator_client, project):
    assert annotator_client.get(f"/projects/{project.pk}/skipped/").status_code == 403


@pytest.mark.sqlite_only("PostgreSQL keeps statistics")
def test_skipped_and_flagged_items_are_found_by_an_index(project):
    """The sidebar counts them on each page of a lead."""
    (plan,) = query_plans.explain_sqlite_queries(
        Assignment.objects.skipped_or_flagged_in(project).count
    )
    assert "assignment_skipped_flagged" in plan
    assert "item_of_project" not in plan


@pytest.mark.parametrize("page", ["rate/1/skip/"])
def test_wrong_http_methods_are_refused(page, annotator_client, project):
    assert annotator_client.get(f"/projects/{project.pk}/{page}").status_code == 405
    assert annotator_client.post(f"/projects/{project.pk}/my-ratings/").status_code == 405


def test_a_lead_is_asked_before_becoming_a_rater(client_for, lead, project, items):
    client = client_for(lead)
    assert "Rate as yourself" in client.get(get_rate_url(project)).content.decode()
    assert not Rater.objects.filter(user=lead).exists()
    assert client.get(get_rate_url(project, items[0])).status_code == 404
    for _ in range(2):
        assert client.post(get_rate_url(project)).status_code == 302
    assert Rater.objects.get(user=lead).key == "lead"
    assert "Text number 0" in client.get(get_rate_url(project)).content.decode()


def test_existing_rater_with_the_same_key_is_not_reused(client_for, lead, project, items):
    Rater.objects.create(project=project, key="lead")
    client_for(lead).post(get_rate_url(project))
    assert Rater.objects.get(user=lead).key == "lead-2"


def test_a_superuser_may_rate_as_themselves(client_for, admin, project, items):
    client = client_for(admin)
    assert "Rate as yourself" in client.get(get_rate_url(project)).content.decode()


def test_an_annotator_without_a_rater_begins_with_a_button(client_for, make_user, project, items):
    user = make_user("new")
    Member.objects.create(project=project, user=user, role="annotator")
    client = client_for(user)
    assert "Start rating" in client.get(get_rate_url(project)).content.decode()
    client.post(get_rate_url(project))
    assert "Text number 0" in client.get(get_rate_url(project)).content.decode()


def test_paused_rater_sees_a_notice_and_stores_nothing(
    annotator_client, project, items, question, rater
):
    annotator_client.get(get_rate_url(project))
    rater.paused = True
    rater.save()
    assert "paused" in annotator_client.get(get_rate_url(project)).content.decode()
    assert submit(annotator_client, project, items[0], question, 2).status_code == 403
    assert not Rating.objects.exists()
    assert annotator_client.get(f"/projects/{project.pk}/my-ratings/").status_code == 200


@pytest.mark.parametrize("reason", ["removed", "viewer", "untied", "never"])
def test_former_rater_gets_a_notice_on_the_open_page(
    reason, client_for, annotator, project, items, question, make_project
):
    """The notice is the same for every reason; it is no error and does not ask to sign in."""
    annotator_client = client_for(annotator)
    annotator_client.get(get_rate_url(project))
    if reason == "removed":
        project.members.filter(user=annotator).delete()
    elif reason == "viewer":
        project.members.filter(user=annotator).update(role="viewer")
    elif reason == "untied":
        project.raters.update(user=None)
    requested_project = make_project("Foreign") if reason == "never" else project
    address = get_rate_url(requested_project, items[0])
    for response in (
        annotator_client.post(address, build_answer_data((question, 1)), **SHEET),
        annotator_client.post(f"{address}skip/", {"reason": "x"}, **SHEET),
    ):
        assert response.status_code == 404
        assert '<section class="sheet"' in response.text
        assert "You can't rate here anymore" in response.text
        assert "site-header" not in response.text
        assert requested_project.name not in response.text
    assert annotator_client.post(address, build_answer_data((question, 1))).status_code in (
        403,
        404,
    )
    assert not Rating.objects.exists()


def test_item_deleted_while_open_is_replaced_by_the_next(
    annotator_client, project, items, question
):
    annotator_client.get(get_rate_url(project))
    Item.objects.filter(pk=items[0].pk).delete()
    response = annotator_client.post(
        get_rate_url(project, items[0]), build_answer_data((question, 2)), **SHEET
    )
    assert response.status_code == 404
    assert "This item was deleted" in response.text
    assert "Next item" in response.text
    assert "Text number 1" in annotator_client.get(get_rate_url(project)).text


def test_a_project_without_questions_says_so(annotator_client, project, items):
    project.questions.all().delete()
    assert "No questions yet" in annotator_client.get(get_rate_url(project)).content.decode()


# --- sheets that rate.js requests


SHEET = {"HTTP_X_ANNOTATION": "sheet"}


def test_sheet_contains_only_the_item(annotator_client, project, items):
    sheet = annotator_client.get(get_rate_url(project), **SHEET).content.decode()
    assert "Text number 0" in sheet
    assert "<html" not in sheet


def test_next_sheet_is_prefetched_before_this_one_is_submitted(
    annotator_client, project, items, question
):
    annotator_client.get(get_rate_url(project))
    next_sheet = annotator_client.get(
        get_rate_url(project, tail=f"next/?showing={items[0].pk}"), **SHEET
    ).content.decode()
    assert "Text number 1" in next_sheet
    response = annotator_client.post(
        get_rate_url(project, items[0]),
        build_answer_data((question, 2), showing=items[1].pk),
        **SHEET,
    )
    assert response.status_code == 200
    assert "Text number 2" in response.content.decode()
    assert sorted(Assignment.objects.filter(state="open").values_list("item__key", flat=True)) == [
        "i1",
        "i2",
    ]


def fetch_next_keys(client, project, shown_items):
    """Request sheets to hold ready until there is none; return the ids of their items."""
    ids = [item.pk for item in shown_items]
    while True:
        address = get_rate_url(project, tail=f"next/?showing={','.join(map(str, ids))}")
        response = client.get(address, **SHEET)
        if response.status_code == 204:
            return ids[len(shown_items) :]
        [item] = re.findall(r'data-item="(\d+)"', response.text)
        ids.append(int(item))


def test_five_sheets_are_prefetched_in_order(annotator_client, project, items):
    items += Item.objects.bulk_create(
        Item(project=project, key=f"more{n}", body={"text": "x"}) for n in range(10)
    )
    annotator_client.get(get_rate_url(project))
    ids = fetch_next_keys(annotator_client, project, items[:1])
    assert ids == [item.pk for item in items[1:6]]
    assert Assignment.objects.filter(state="open").count() == 6


def test_raters_share_the_remaining_items(annotator_client, project, items, client_for, make_user):
    """The first rater must not hold all items while others wait for one."""
    Project.objects.filter(pk=project.pk).update(overlap=1)
    clients = [annotator_client]
    for name in ("ben", "cleo"):
        user = make_user(name)
        Member.objects.create(project=project, user=user, role="annotator")
        Rater.objects.create(project=project, key=name, user=user)
        clients.append(client_for(user))
    items += Item.objects.bulk_create(
        Item(project=project, key=f"more{n}", body={"text": "x"}) for n in range(5)
    )
    for client in clients:
        client.get(get_rate_url(project))
    shown_items = [
        Item.objects.get(assignments__rater__key=key, assignments__state="open")
        for key in ("ann", "ben", "cleo")
    ]
    # 9 items, three of them shown: each rater can still get 7, and holds 7 // 3 beside the shown.
    numbers = [
        len(fetch_next_keys(client, project, [item]))
        for client, item in zip(clients, shown_items, strict=True)
    ]
    assert numbers == [2, 1, 1]


def test_answer_returns_the_progress_where_no_sheet_follows(
    annotator_client, project, items, question
):
    """A page that holds sheets shows the current numbers also when it gets no further one."""
    annotator_client.get(get_rate_url(project))
    fetch_next_keys(annotator_client, project, items[:1])
    shown_ids = ",".join(str(item.pk) for item in items[1:])
    response = annotator_client.post(
        get_rate_url(project, items[0]),
        build_answer_data((question, 1), showing=shown_ids),
        **SHEET,
    )
    assert response.status_code == 200
    assert ">1 today<" in response.text
    assert 'data-item=""' in response.text and "item-body" not in response.text


def test_delayed_answer_has_no_seconds(annotator_client, project, items, question):
    """Without a connection, nobody knows how long the item was visible."""
    annotator_client.get(get_rate_url(project))
    submit(annotator_client, project, items[0], question, 2, delayed="on")
    annotator_client.get(get_rate_url(project))
    submit(annotator_client, project, items[1], question, 2)
    seconds = dict(Rating.objects.values_list("item__key", "seconds"))
    assert seconds["i0"] is None
    assert seconds["i1"] is not None


@pytest.mark.parametrize("showing", ["999999,x", ",,", "999999," * 5_000, "9" * 40, "-1,٣"])
def test_invalid_lists_of_shown_items_are_ignored(annotator_client, project, items, showing):
    response = annotator_client.get(get_rate_url(project, tail=f"next/?showing={showing}"), **SHEET)
    assert response.status_code == 200
    assert "Text number" in response.text  # an item may have the id 1


# --- goal, pace, and looking back


def test_goal_is_set_for_the_rater_alone(annotator_client, project, items, question, rater):
    annotator_client.get(get_rate_url(project))
    url = get_rate_url(project, tail="goal/")
    assert annotator_client.post(url, {"goal": "3"}).status_code == 302
    page = annotator_client.get(get_rate_url(project)).text
    assert "0 of 3 today" in page
    submit(annotator_client, project, items[0], question, 1)
    assert "1 of 3 today" in annotator_client.get(get_rate_url(project)).text
    for goal in ("-1", "x", "10001", "9" * 30):
        response = annotator_client.post(url, {"goal": goal}, follow=True)
        assert "Enter a whole number from 1 to 10000." in response.text
    assert "1 of 3 today" in annotator_client.get(get_rate_url(project)).text
    annotator_client.post(url, {"goal": ""})
    assert "of 3 today" not in annotator_client.get(get_rate_url(project)).text


def test_my_ratings_compares_the_last_days(annotator_client, project, items, question, rater):
    items += Item.objects.bulk_create(
        Item(project=project, key=f"more{n}", body={"text": "x"}) for n in range(5)
    )
    for item in items:
        annotator_client.get(get_rate_url(project))
        submit(annotator_client, project, item, question, 1)
    now = timezone.now()
    for rows, days, seconds in ((items[:6], 1, (2, 3, 4, 6, 8, 9)), (items[6:8], 20, (1, 1))):
        for item, number in zip(rows, seconds, strict=True):
            time = now - datetime.timedelta(days=days)
            Rating.objects.filter(item=item).update(rated_at=time, changed_at=time, seconds=number)
    page = annotator_client.get(f"/projects/{project.pk}/my-ratings/").text
    cells = re.findall(
        r'<th scope="row">(.*?)</th><td class="num">(.*?)</td><td class="num">(.*?)</td>', page
    )
    zone = ZoneInfo(project.time_zone)
    today = now.astimezone(zone).date()
    yesterday = today - datetime.timedelta(days=1)
    assert cells == [(f"{today}", "1", "–"), (f"{yesterday}", "6", "5.0")]


def test_going_back_is_offered_after_the_first_answer(annotator_client, project, items, question):
    def get_back_buttons():
        page = annotator_client.get(get_rate_url(project)).text
        return re.findall(r"<button[^>]*data-do=\"(?:back|undo)\"[^>]*>", page)

    assert all("disabled" in button for button in get_back_buttons())
    submit(annotator_client, project, items[0], question, 1)
    assert len(get_back_buttons()) == 2
    assert not any("disabled" in button for button in get_back_buttons())


def test_looking_back_changes_nothing(annotator_client, project, items, question):
    for item in items[:2]:
        annotator_client.get(get_rate_url(project))
        submit(annotator_client, project, item, question, 1)
    annotator_client.get(get_rate_url(project))
    for before, number in ((items[2], 1), (items[1], 0)):
        address = get_rate_url(project, tail=f"undo/?before={before.pk}")
        assert f"Text number {number}" in annotator_client.get(address, **SHEET).text
    assert Assignment.objects.filter(state="done").count() == 2
    assert Rating.objects.current().count() == 2
    assert Revision.objects.count() == 2


def test_no_sheet_is_prefetched_after_the_last_item(annotator_client, project, items, question):
    Item.objects.exclude(key="i0").delete()
    annotator_client.get(get_rate_url(project))
    assert (
        annotator_client.get(
            get_rate_url(project, tail=f"next/?showing={items[0].pk}"), **SHEET
        ).status_code
        == 204
    )
    response = annotator_client.post(
        get_rate_url(project, items[0]), build_answer_data((question, 2)), **SHEET
    )
    assert "Done for now. Thank you!" in response.content.decode()


def test_invalid_sheet_is_shown_again_with_the_error(annotator_client, project, items, question):
    annotator_client.get(get_rate_url(project))
    response = annotator_client.post(
        get_rate_url(project, items[0]),
        build_answer_data((question, 9), showing=items[1].pk),
        **SHEET,
    )
    assert response.status_code == 400
    assert "none, minor, major, critical" in response.content.decode()
    assert "<html" not in response.content.decode()


def test_undo_by_sheet(annotator_client, project, items, question):
    annotator_client.get(get_rate_url(project))
    assert annotator_client.get(get_rate_url(project, tail="undo/"), **SHEET).status_code == 204
    submit(annotator_client, project, items[0], question, 2)
    assert (
        "Text number 0"
        in annotator_client.get(get_rate_url(project, tail="undo/"), **SHEET).content.decode()
    )


def test_sheet_responses_name_the_current_guidelines(
    annotator_client, project, items, question, lead
):
    annotator_client.get(get_rate_url(project))
    change_project(project=project, by=lead, guidelines="Look twice.")
    data = build_answer_data((question, 1), showing=items[1].pk)
    for response in (
        annotator_client.post(get_rate_url(project, items[0]), data, **SHEET),
        annotator_client.get(get_rate_url(project, tail=f"next/?showing={items[3].pk}"), **SHEET),
    ):
        assert response["X-Guidelines"] == "1"
    assert "X-Guidelines" not in annotator_client.get(get_rate_url(project))


def test_only_urls_in_a_message_become_links(annotator_client, project, items, rater, lead):
    text = (
        "See https://example.org/a?b=1&c=<b>, (http://example.org/d).\n"
        "Not javascript:alert(1), example.org or <script>."
    )
    rater_messages.send_messages(raters=[rater], text=text, by=lead)
    link = '<a href="{0}" target="_blank" rel="noopener noreferrer nofollow">{0}</a>'
    for address in (get_rate_url(project), f"/projects/{project.pk}/my-ratings/"):
        page = annotator_client.get(address).text
        message = page.split('aria-label="Message">')[1].split("</div>")[0]
        assert message == (
            f"See {link.format('https://example.org/a?b=1&amp;c=')}&lt;b&gt;,"
            f" ({link.format('http://example.org/d')}).<br>"
            "Not javascript:alert(1), example.org or &lt;script&gt;."
        )


def test_rating_pages_are_not_cached(annotator_client, project, items):
    for page in ("rate/", "rate/next/", "my-ratings/"):
        assert "no-store" in annotator_client.get(f"/projects/{project.pk}/{page}")["Cache-Control"]


def test_number_of_queries_to_answer_an_item(annotator_client, project, items, question):
    """The count includes the round trips that begin and end a transaction.

    SQLite sends every statement separately.
    """
    annotator_client.get(get_rate_url(project))
    submit(annotator_client, project, items[0], question, 2)
    annotator_client.get(get_rate_url(project))
    is_sqlite = connection.vendor == "sqlite"
    with measure_round_trips() as get_query_count:
        response = annotator_client.post(
            get_rate_url(project, items[1]), build_answer_data((question, 2)), **SHEET
        )
    assert get_query_count() == (44 if is_sqlite else 23)
    assert "Text number 2" in response.content.decode()
    with measure_round_trips() as get_query_count:
        annotator_client.get(get_rate_url(project), **SHEET)
    assert get_query_count() == (19 if is_sqlite else 10)
