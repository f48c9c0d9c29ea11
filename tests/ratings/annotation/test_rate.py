"""The annotator's desk, through HTTP."""

import datetime
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from projects.models import Category, Item, Member, Project, Question, Rater
from projects.services.projects import change_project
from ratings.annotation import rater_messages
from ratings.models import Apart, Assignment, Rating, Revision
from tests import query_plans
from tests.query_counts import journeys

pytestmark = pytest.mark.django_db


@pytest.fixture
def items(project):
    return Item.objects.bulk_create(
        Item(project=project, key=f"i{number}", body={"text": f"Text number {number}"})
        for number in range(4)
    )


@pytest.fixture
def desk(client_for, annotator):
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


def rate_url(project, item=None, tail=""):
    return f"/projects/{project.pk}/rate/" + (f"{item.pk}/" if item else "") + tail


def answers(*pairs, **extra):
    return {**{f"question-{question.pk}": code for question, code in pairs}, **extra}


def submit(client, project, item, question, code, **extra):
    return client.post(rate_url(project, item), answers((question, code), **extra))


# --- the next item


def test_the_next_item_is_shown_with_its_answers_and_their_keys(desk, project, items):
    page = desk.get(rate_url(project)).content.decode()
    assert "Text number 0" in page
    for key, label in enumerate(("none", "minor", "major", "critical"), start=1):
        assert f'data-key="{key}"' in page
        assert f'aria-keyshortcuts="{key}"' in page  # who hears the answer hears its key
        assert label in page
    assert "Text number 1" not in page


def test_an_answer_is_stored_and_the_next_item_comes(
    desk, project, items, question, rater, annotator
):
    desk.get(rate_url(project))
    response = submit(desk, project, items[0], question, 2, comment="hm", flagged="on")
    assert response.status_code == 302
    assert response["Location"] == rate_url(project)
    rating = Rating.objects.get()
    assert (rating.item, rating.rater, rating.code, rating.comment) == (items[0], rater, 2, "hm")
    assert rating.seconds is not None and 0 <= rating.seconds < 60
    revision = Revision.objects.get()
    assert (revision.by, revision.source) == (annotator, "form")
    assignment = Assignment.objects.get(item=items[0])
    assert (assignment.state, assignment.flagged) == ("done", True)
    assert "Text number 1" in desk.get(rate_url(project)).content.decode()


def test_the_desk_says_when_nothing_is_left(desk, project, items, question):
    for item in items:
        desk.get(rate_url(project))
        submit(desk, project, item, question, 0)
    page = desk.get(rate_url(project)).content.decode()
    assert "Done for now. Thank you!" in page
    assert "<dt>Rated in all</dt><dd>4</dd>" in page


TAKEN = "Every item has its ratings, or is being rated by somebody just now."
ALL_DONE = "You have rated or skipped every item that there is for you."


def test_who_is_done_is_not_told_that_others_are(desk, project, items, question):
    """Nobody else has begun: what is left is left for others."""
    for item in items[:3]:
        desk.get(rate_url(project))
        submit(desk, project, item, question, 0)
    desk.get(rate_url(project))  # the last one is before them
    assert "Rate the next item</a>" in desk.get("/").text
    desk.post(rate_url(project, items[3], "skip/"), {"reason": "x"})
    home = desk.get("/").text
    assert ("Nothing left for you" in home, "Rate the next item</a>" in home) == (True, False)
    for page in (desk.get(rate_url(project)), desk.get(rate_url(project), HTTP_X_DESK="sheet")):
        assert (ALL_DONE in page.text, TAKEN in page.text) == (True, False)
    Item.objects.create(project=project, key="later", body={"text": "x"})
    Item.objects.filter(key="later").update(places_taken=99)
    page = desk.get(rate_url(project)).text
    assert (ALL_DONE in page, TAKEN in page) == (False, True)
    home = desk.get("/").text
    assert "Nothing to rate just now" in home and "Nothing left for you" not in home


def test_sending_twice_is_one_rating(desk, project, items, question):
    desk.get(rate_url(project))
    for _ in range(2):
        assert submit(desk, project, items[0], question, 2).status_code == 302
    assert Rating.objects.count() == Revision.objects.count() == 1


def test_several_questions_are_answered_on_one_page(
    desk, project, items, question, second_question
):
    desk.get(rate_url(project))
    response = desk.post(
        rate_url(project, items[0]), answers((question, 3), (second_question, 1), comment="both")
    )
    assert response.status_code == 302
    stored = {rating.question_id: (rating.code, rating.comment) for rating in Rating.objects.all()}
    assert stored == {question.pk: (3, "both"), second_question.pk: (1, "")}


def test_my_ratings_has_the_questions_in_the_order_of_the_desk(
    desk, project, items, question, second_question
):
    desk.get(rate_url(project))
    desk.post(rate_url(project, items[0]), answers((question, 3), (second_question, 1)))
    page = desk.get(f"/projects/{project.pk}/my-ratings/").text
    said = re.findall(r'own__answer">(.*?)<', page)
    assert said == ["critical", "yes"]


def test_the_keys_of_each_question_are_its_own(desk, project, items, second_question):
    page = desk.get(rate_url(project)).content.decode()
    assert page.count('data-key="1"') == 2


def test_a_key_of_the_desk_that_a_question_of_old_declares_gives_way(
    desk, project, items, question
):
    question.categories.filter(code=1).update(hotkey="u")
    question.categories.filter(code=2).update(hotkey="G")
    page = desk.get(rate_url(project)).content.decode()
    assert re.findall(r'data-key="(.)"', page) == ["1", "2", "3", "4"]


def test_seconds_run_from_the_last_answer_when_the_item_was_fetched_ahead(
    desk, project, items, question, rater
):
    now = timezone.now()
    desk.get(rate_url(project))
    Assignment.objects.update(created_at=now - datetime.timedelta(seconds=600))
    rater.desk.last_closed_at = now - datetime.timedelta(seconds=20)
    rater.desk.save()
    submit(desk, project, items[0], question, 2)
    seconds = Rating.objects.get().seconds
    assert seconds is not None and 20 <= seconds < 60


def test_seconds_are_never_more_than_a_lease(desk, project, items, question, settings):
    desk.get(rate_url(project))
    Assignment.objects.update(created_at=timezone.now() - datetime.timedelta(days=2))
    submit(desk, project, items[0], question, 2)
    assert Rating.objects.get().seconds == settings.LEASE_SECONDS


# --- bad input changes nothing


@pytest.mark.parametrize("code", ["9", "-1", "", "two", "0.5", "\x00", "9" * 400])
def test_an_unknown_answer_is_refused(desk, project, items, question, code):
    desk.get(rate_url(project))
    response = submit(desk, project, items[0], question, code)
    assert response.status_code == 400
    assert (
        "Choose an answer." in response.content.decode()
        or "none, minor, major, critical" in response.content.decode()
    )
    assert not Rating.objects.exists()


def test_an_incomplete_answer_is_refused_and_what_was_chosen_is_kept(
    desk, project, items, question, second_question
):
    desk.get(rate_url(project))
    response = submit(desk, project, items[0], question, 2, comment="half")
    assert response.status_code == 400
    page = response.content.decode()
    assert "half" in page
    assert (
        f'id="question-{question.pk}-2" name="question-{question.pk}" value="2" data-key="3" '
        "checked" in page
    )
    assert not Rating.objects.exists()


def test_a_comment_with_a_nul_is_refused(desk, project, items, question):
    desk.get(rate_url(project))
    assert submit(desk, project, items[0], question, 2, comment="a\x00b").status_code == 400
    assert not Rating.objects.exists()


def test_a_category_removed_meanwhile_is_refused(desk, project, items, question):
    desk.get(rate_url(project))
    question.categories.filter(code=2).update(retired=True)
    assert submit(desk, project, items[0], question, 2).status_code == 400
    assert not Rating.objects.exists()


def test_an_item_that_was_not_given_does_not_exist(desk, project, items, question):
    desk.get(rate_url(project))
    assert desk.get(rate_url(project, items[1])).status_code == 404
    assert submit(desk, project, items[1], question, 2).status_code == 404
    assert desk.post(rate_url(project, items[1], "skip/"), {"reason": "x"}).status_code == 404
    assert not Rating.objects.exists()


def test_an_item_of_another_project_does_not_exist(
    desk, project, items, question, make_project, annotator
):
    other = make_project("Other")
    foreign = Item.objects.create(project=other, key="f", body={"text": "x"})
    theirs = Rater.objects.create(project=other, key="ann", user=annotator)
    Assignment.objects.create(item=foreign, rater=theirs, leased_until=timezone.now())
    assert submit(desk, project, foreign, question, 2).status_code == 404
    assert desk.get(rate_url(other)).status_code == 404
    assert not Rating.objects.exists()


def test_a_page_number_that_is_none_shows_a_page(desk, project, items):
    for page in ("0", "-1", "99999999999999999999", "x"):
        assert desk.get(f"/projects/{project.pk}/my-ratings/?page={page}").status_code == 200
    for number in ("-1", "x", "9" * 30, "١"):
        assert desk.get(rate_url(project, tail=f"next/?showing={number}")).status_code == 200
        assert desk.get(rate_url(project, tail=f"last/?before={number}")).status_code == 302


# --- skip


def test_a_skip_keeps_its_reason_and_gives_the_next_item(desk, project, items, client_for, lead):
    desk.get(rate_url(project))
    response = desk.post(rate_url(project, items[0], "skip/"), {"reason": "cannot read it"})
    assert response.status_code == 302
    assert "Text number 1" in desk.get(rate_url(project)).content.decode()
    assert not Rating.objects.exists()
    assert Item.objects.get(key="i0").places_taken == 0
    page = client_for(lead).get(f"/projects/{project.pk}/set-aside/").content.decode()
    assert "cannot read it" in page
    assert "i0" in page


def test_the_lead_reads_why_an_item_was_flagged(
    desk, project, items, question, client_for, lead, django_assert_num_queries
):
    """Of each item the comment of who flagged it, by as many queries for one as for all."""
    aside, reader = f"/projects/{project.pk}/set-aside/", client_for(lead)
    reader.get(aside)  # what is remembered from one page to the next
    for number, item in enumerate(items[:3]):
        desk.get(rate_url(project))
        flag = {"flagged": "on"} if number != 1 else {}
        submit(desk, project, item, question, 2, comment=f"Cut off at {number}", **flag)
        if number == 0:
            with CaptureQueriesContext(connection) as of_one:
                assert "Cut off at 0" in reader.get(aside).text
            one = len(of_one)
    other = Rater.objects.create(project=project, key="other")
    now = timezone.now()
    Rating.objects.create(
        question=question, item=items[0], rater=other, code=1, comment="Said by who flagged none",
        rated_at=now, changed_at=now, day=0,
    )  # fmt: skip
    with django_assert_num_queries(one):
        page = reader.get(aside).text
    assert page.index("Cut off at 2") < page.index("Cut off at 0")
    assert "Cut off at 1" not in page
    assert "Said by who flagged none" not in page


@pytest.mark.parametrize("apart", [False, True])
def test_of_a_test_the_comment_that_stands_apart_is_read(
    desk, project, items, question, client_for, lead, rater, apart
):
    desk.get(rate_url(project))
    submit(desk, project, items[0], question, 2, comment="As a rating", flagged="on")
    now = timezone.now()
    Apart.objects.create(
        question=question, item=items[0], rater=rater, why="gold", code=1, comment="As a test",
        rated_at=now, changed_at=now, source="form",
    )  # fmt: skip
    Assignment.objects.filter(item=items[0]).update(why="gold" if apart else "")
    page = client_for(lead).get(f"/projects/{project.pk}/set-aside/").text
    assert ("As a test" in page, "As a rating" in page) == (apart, not apart)


@pytest.mark.parametrize("reason", ["", "   ", "x" * 301, "a\x00"])
def test_a_skip_without_a_usable_reason_is_refused(desk, project, items, reason):
    desk.get(rate_url(project))
    assert desk.post(rate_url(project, items[0], "skip/"), {"reason": reason}).status_code == 400
    assert Assignment.objects.get().state == "open"


def test_skipping_twice_is_one_skip(desk, project, items):
    desk.get(rate_url(project))
    for _ in range(2):
        assert desk.post(rate_url(project, items[0], "skip/"), {"reason": "x"}).status_code == 302
    assert Assignment.objects.filter(state="skipped").count() == 1


def test_what_is_rated_cannot_be_skipped(desk, project, items, question):
    desk.get(rate_url(project))
    submit(desk, project, items[0], question, 2)
    assert desk.post(rate_url(project, items[0], "skip/"), {"reason": "x"}).status_code == 409
    assert Assignment.objects.get(item=items[0]).state == "done"


def test_a_skipped_item_can_be_rated_after_all(desk, project, items, question):
    desk.get(rate_url(project))
    desk.post(rate_url(project, items[0], "skip/"), {"reason": "not now"})
    assert "not now" in desk.get(rate_url(project, items[0])).content.decode()
    assert submit(desk, project, items[0], question, 1).status_code == 302
    assert Rating.objects.get().code == 1
    assert Item.objects.get(key="i0").places_taken == 1


def test_a_skipped_item_that_others_took_meanwhile_is_not_offered(
    desk, project, items, question, rate
):
    """It would be answered, and then refused."""
    desk.get(rate_url(project))
    desk.post(rate_url(project, items[0], "skip/"), {"reason": "not now"})
    listed = f"/projects/{project.pk}/my-ratings/?show=skipped"
    sheet = rate_url(project, items[0])
    assert f'href="{sheet}"' in desk.get(listed).text
    give_to_others(question, rate, "x", "y")
    Project.objects.filter(pk=project.pk).update(overlap=2)
    assert f'href="{sheet}"' not in desk.get(listed).text
    page = desk.get(sheet).text
    assert "it needs no more answers" in page
    assert 'id="answers"' not in page


# --- time out


def give_to_others(question, rate, *raters):
    for rater in raters:
        rate(question, "i0", rater, "none")


def test_a_late_answer_counts_while_there_is_a_place(desk, project, items, question):
    desk.get(rate_url(project))
    Assignment.objects.update(state="expired", closed_at=timezone.now())
    assert submit(desk, project, items[0], question, 1).status_code == 302
    assert Rating.objects.get().code == 1


def test_a_late_answer_is_refused_when_others_took_the_place(desk, project, items, question, rate):
    desk.get(rate_url(project))
    Assignment.objects.update(state="expired", closed_at=timezone.now())
    give_to_others(question, rate, "x", "y", "z")
    response = submit(desk, project, items[0], question, 1)
    assert response.status_code == 409
    assert "not stored" in response.content.decode()
    assert Rating.objects.filter(item=items[0]).count() == 3


# --- undo and my ratings


def test_undo_brings_the_last_item_back_with_its_answer(desk, project, items, question):
    desk.get(rate_url(project))
    submit(desk, project, items[0], question, 2, comment="first thought")
    desk.get(rate_url(project))
    response = desk.get(rate_url(project, tail="last/"), follow=True)
    page = response.content.decode()
    assert "Text number 0" in page
    assert "first thought" in page
    assert 'value="2" data-key="3" checked' in page
    submit(desk, project, items[0], question, 3, comment="second thought")
    rating = Rating.objects.get()
    assert (rating.code, rating.comment) == (3, "second thought")
    assert Revision.objects.count() == 2


def test_undo_goes_back_step_by_step(desk, project, items, question):
    for item in items[:3]:
        desk.get(rate_url(project))
        submit(desk, project, item, question, 2)
    for before, expected in ((items[3], items[2]), (items[2], items[1]), (items[1], items[0])):
        response = desk.get(rate_url(project, tail=f"last/?before={before.pk}"))
        assert response["Location"] == rate_url(project, expected)
    assert desk.get(rate_url(project, tail=f"last/?before={items[0].pk}"))["Location"] == rate_url(
        project
    )


def test_correcting_keeps_the_time_spent(desk, project, items, question):
    desk.get(rate_url(project))
    submit(desk, project, items[0], question, 2)
    Rating.objects.update(seconds=12.5)
    submit(desk, project, items[0], question, 1)
    assert Rating.objects.get().seconds == 12.5


def test_my_ratings_lists_my_own_alone(desk, project, items, question, rate):
    rate(question, "i0", "ann", "major")
    rate(question, "i1", "somebody", "critical")
    page = desk.get(f"/projects/{project.pk}/my-ratings/").content.decode()
    assert "Text number 0" in page
    assert "major" in page
    assert "Text number 1" not in page
    assert "critical" not in page


@pytest.mark.parametrize(
    ("asked", "keys"),
    [
        ("", ["i2", "i1", "i0"]),
        ("?search=NUMBER 1", ["i1"]),
        ("?search=i2", ["i2"]),
        ("?search=text", ["i2", "i1", "i0"]),  # not the name of the part: what it says
        ("?search=nothing such", []),
        ("?show=flagged", ["i1"]),
        ("?show=comment", ["i2"]),
        ("?show=changed", ["i0"]),
        ("?show=changed&search=i1", []),
        ("?show=odd", ["i2", "i1", "i0"]),
    ],
)
def test_my_ratings_are_searched_and_marked(desk, project, items, question, asked, keys):
    desk.get(rate_url(project))
    submit(desk, project, items[0], question, 2)
    submit(desk, project, items[0], question, 1)
    for number, extra in ((1, {"flagged": "on"}), (2, {"comment": "why"})):
        desk.get(rate_url(project))
        assert submit(desk, project, items[number], question, 1, **extra).status_code == 302
    Rating.objects.filter(item=items[0]).update(changed_at="2026-01-01T00:00:00Z")
    Revision.objects.filter(rating__item=items[0]).update(recorded_at="2025-12-31T00:00:00Z")
    answer = desk.get(f"/projects/{project.pk}/my-ratings/{asked}")
    assert [row["item"].key for row in answer.context["rows"]] == keys
    page = answer.content.decode().split('<ul class="card own">')[-1]
    assert (page.count(">flagged</span>"), page.count(">changed later</span>")) == (
        "i1" in keys,
        "i0" in keys,
    )
    assert answer.context["search"] == asked.partition("search=")[2].partition("&")[0]


def test_what_was_taken_back_and_said_again_is_not_changed(desk, project, items, question):
    for number in range(2):
        desk.get(rate_url(project))
        submit(desk, project, items[number], question, 1)
    for code in (1, 2):
        desk.post(rate_url(project, tail="last/"), {}, headers={"X-Desk": "sheet"})
        submit(desk, project, items[1], question, code)
        changed = desk.get(f"/projects/{project.pk}/my-ratings/?show=changed").context["rows"]
        assert [row["item"].key for row in changed] == (["i1"] if code == 2 else [])


def test_what_was_skipped_is_listed_and_can_be_rated(desk, project, items, question):
    address = f"/projects/{project.pk}/my-ratings/?show=skipped"
    assert "No rating of yours fits." in desk.get(address).content.decode()
    desk.get(rate_url(project))
    desk.post(rate_url(project, items[0], "skip/"), {"reason": "no answer fits"})
    progress = desk.get(rate_url(project)).content.decode()
    assert f'href="{address}"' in progress
    page = desk.get(address).content.decode()
    assert "Text number 0" in page and "no answer fits" in page
    assert rate_url(project, items[0]) in page
    assert "Text number 0" not in desk.get(f"{address}&search=i1").content.decode()
    assert submit(desk, project, items[0], question, 1).status_code == 302
    assert "Text number 0" not in desk.get(address).content.decode()


def test_what_was_said_of_an_item_stands_in_one_row(desk, project, items, question):
    second = Question.objects.create(project=project, key="tone", text="Tone?", scale="nominal")
    for code, label in enumerate(("kind", "rude")):
        second.categories.create(code=code, label=label, position=code)
    desk.get(rate_url(project))
    sent = answers((question, 1), (second, 0))
    assert desk.post(rate_url(project, items[0]), sent).status_code == 302
    (row,) = desk.get(f"/projects/{project.pk}/my-ratings/").context["rows"]
    assert sorted(answer["label"] for answer in row["answers"]) == ["kind", "minor"]


def test_an_item_of_which_one_answer_was_changed_later_is_not_torn(
    desk, project, items, question, second_question
):
    for item in items[:2]:
        desk.get(rate_url(project))
        desk.post(rate_url(project, item), answers((question, 1), (second_question, 0)))
    desk.post(rate_url(project, items[0]), answers((question, 1), (second_question, 1)))
    listed = f"/projects/{project.pk}/my-ratings/"
    rows = desk.get(listed).context["rows"]
    assert [row["item"] for row in rows] == [items[0], items[1]]
    for asked in ("", "?show=changed"):
        row = desk.get(listed + asked).context["rows"][0]
        told = [(answer["label"], answer["changed"]) for answer in row["answers"]]
        assert told == [("minor", False), ("yes", True)]


def test_an_own_rating_from_elsewhere_can_be_changed(desk, project, items, question, rate):
    rate(question, "i0", "ann", "major")
    assert submit(desk, project, items[0], question, 0).status_code == 302
    assert Rating.objects.get().code == 0


def test_a_closed_project_takes_new_ratings_and_no_corrections(desk, project, items, question):
    project.corrections = False
    project.save()
    desk.get(rate_url(project))
    assert submit(desk, project, items[0], question, 2).status_code == 302
    assert submit(desk, project, items[0], question, 2).status_code == 302
    assert submit(desk, project, items[0], question, 1).status_code == 403
    assert Rating.objects.get().code == 2
    assert "Change</a>" not in desk.get(f"/projects/{project.pk}/my-ratings/").content.decode()
    page = desk.get(rate_url(project, items[0])).text
    assert 'id="answers"' not in page and '<p class="said__answer">major</p>' in page


# --- who may


PAGES = ["rate/", "rate/next/", "rate/last/", "rate/1/", "my-ratings/"]


@pytest.mark.parametrize("page", [*PAGES, "set-aside/"])
def test_a_stranger_finds_nothing(page, client_for, stranger, project):
    assert client_for(stranger).get(f"/projects/{project.pk}/{page}").status_code == 404


@pytest.mark.parametrize("page", [*PAGES, "set-aside/"])
def test_nobody_enters_without_signing_in(page, client, project):
    assert client.get(f"/projects/{project.pk}/{page}").status_code == 302


@pytest.mark.parametrize("page", [*PAGES, "set-aside/"])
def test_a_viewer_may_not(page, client_for, viewer, project):
    assert client_for(viewer).get(f"/projects/{project.pk}/{page}").status_code == 403


def test_an_annotator_may_not_see_what_was_set_aside(desk, project):
    assert desk.get(f"/projects/{project.pk}/set-aside/").status_code == 403


@pytest.mark.sqlite_only("PostgreSQL keeps statistics")
def test_what_was_set_aside_is_found_without_a_look_at_all_items(project):
    """The rail counts it on each page of a lead."""
    (plan,) = query_plans.of_sqlite(Assignment.objects.skipped_or_flagged_in(project).count)
    assert "assignment_set_aside" in plan
    assert "item_of_project" not in plan


@pytest.mark.parametrize("page", ["rate/1/skip/"])
def test_wrong_verbs_are_refused(page, desk, project):
    assert desk.get(f"/projects/{project.pk}/{page}").status_code == 405
    assert desk.post(f"/projects/{project.pk}/my-ratings/").status_code == 405


def test_a_lead_is_asked_before_becoming_a_rater(client_for, lead, project, items):
    client = client_for(lead)
    assert "Rate as yourself" in client.get(rate_url(project)).content.decode()
    assert not Rater.objects.filter(user=lead).exists()
    assert client.get(rate_url(project, items[0])).status_code == 404
    for _ in range(2):
        assert client.post(rate_url(project)).status_code == 302
    assert Rater.objects.get(user=lead).key == "lead"
    assert "Text number 0" in client.get(rate_url(project)).content.decode()


def test_a_rater_of_the_same_name_is_not_taken_over(client_for, lead, project, items):
    Rater.objects.create(project=project, key="lead")
    client_for(lead).post(rate_url(project))
    assert Rater.objects.get(user=lead).key == "lead-2"


def test_a_superuser_may_rate_as_themselves(client_for, admin, project, items):
    client = client_for(admin)
    assert "Rate as yourself" in client.get(rate_url(project)).content.decode()


def test_an_annotator_without_a_rater_begins_with_a_button(client_for, make_user, project, items):
    user = make_user("new")
    Member.objects.create(project=project, user=user, role="annotator")
    client = client_for(user)
    assert "Ready to rate" in client.get(rate_url(project)).content.decode()
    client.post(rate_url(project))
    assert "Text number 0" in client.get(rate_url(project)).content.decode()


def test_a_paused_rater_is_told_and_stores_nothing(desk, project, items, question, rater):
    desk.get(rate_url(project))
    rater.paused = True
    rater.save()
    assert "paused" in desk.get(rate_url(project)).content.decode()
    assert submit(desk, project, items[0], question, 2).status_code == 403
    assert not Rating.objects.exists()
    assert desk.get(f"/projects/{project.pk}/my-ratings/").status_code == 200


@pytest.mark.parametrize("how", ["removed", "viewer", "untied", "never"])
def test_who_rates_here_no_more_is_told_at_the_open_desk(
    how, client_for, annotator, project, items, question, make_project
):
    """Not that something went wrong, nor to sign in: of whatever is not theirs the same."""
    desk = client_for(annotator)
    desk.get(rate_url(project))
    if how == "removed":
        project.members.filter(user=annotator).delete()
    elif how == "viewer":
        project.members.filter(user=annotator).update(role="viewer")
    elif how == "untied":
        project.raters.update(user=None)
    asked = make_project("Foreign") if how == "never" else project
    address = rate_url(asked, items[0])
    for answer in (
        desk.post(address, answers((question, 1)), **SHEET),
        desk.post(f"{address}skip/", {"reason": "x"}, **SHEET),
    ):
        assert answer.status_code == 404
        assert '<section class="sheet"' in answer.text
        assert "You do not rate here any more" in answer.text
        assert "site-header" not in answer.text
        assert asked.name not in answer.text
    assert desk.post(address, answers((question, 1))).status_code in (403, 404)
    assert not Rating.objects.exists()


def test_an_item_that_is_deleted_while_it_is_rated_gives_way_to_the_next(
    desk, project, items, question
):
    desk.get(rate_url(project))
    Item.objects.filter(pk=items[0].pk).delete()
    answer = desk.post(rate_url(project, items[0]), answers((question, 2)), **SHEET)
    assert answer.status_code == 404
    assert "This item is gone, or was never given to you." in answer.text
    assert "Next item" in answer.text
    assert "Text number 1" in desk.get(rate_url(project)).text


def test_a_project_without_questions_says_so(desk, project, items):
    project.questions.all().delete()
    assert "no questions" in desk.get(rate_url(project)).content.decode()


# --- the sheets that rate.js asks for


SHEET = {"HTTP_X_DESK": "sheet"}


def test_a_sheet_is_the_item_alone(desk, project, items):
    sheet = desk.get(rate_url(project), **SHEET).content.decode()
    assert "Text number 0" in sheet
    assert "<html" not in sheet


def test_the_next_sheet_is_laid_ready_before_this_one_is_done(desk, project, items, question):
    desk.get(rate_url(project))
    ahead = desk.get(
        rate_url(project, tail=f"next/?showing={items[0].pk}"), **SHEET
    ).content.decode()
    assert "Text number 1" in ahead
    response = desk.post(
        rate_url(project, items[0]), answers((question, 2), showing=items[1].pk), **SHEET
    )
    assert response.status_code == 200
    assert "Text number 2" in response.content.decode()
    assert sorted(Assignment.objects.filter(state="open").values_list("item__key", flat=True)) == [
        "i1",
        "i2",
    ]


def test_there_is_no_sheet_to_lay_ready_at_the_end(desk, project, items, question):
    Item.objects.exclude(key="i0").delete()
    desk.get(rate_url(project))
    assert (
        desk.get(rate_url(project, tail=f"next/?showing={items[0].pk}"), **SHEET).status_code == 204
    )
    response = desk.post(rate_url(project, items[0]), answers((question, 2)), **SHEET)
    assert "Done for now. Thank you!" in response.content.decode()


def test_a_refused_sheet_comes_back_with_the_reason(desk, project, items, question):
    desk.get(rate_url(project))
    response = desk.post(
        rate_url(project, items[0]), answers((question, 9), showing=items[1].pk), **SHEET
    )
    assert response.status_code == 400
    assert "none, minor, major, critical" in response.content.decode()
    assert "<html" not in response.content.decode()


def test_undo_by_sheet(desk, project, items, question):
    desk.get(rate_url(project))
    assert desk.get(rate_url(project, tail="last/"), **SHEET).status_code == 204
    submit(desk, project, items[0], question, 2)
    assert "Text number 0" in desk.get(rate_url(project, tail="last/"), **SHEET).content.decode()


def test_every_answer_to_the_script_says_which_guidelines_stand(
    desk, project, items, question, lead
):
    desk.get(rate_url(project))
    change_project(project=project, by=lead, guidelines="Look twice.")
    sent = answers((question, 1), showing=items[1].pk)
    for answer in (
        desk.post(rate_url(project, items[0]), sent, **SHEET),
        desk.get(rate_url(project, tail=f"next/?showing={items[3].pk}"), **SHEET),
    ):
        assert answer["X-Guidelines"] == "1"
    assert "X-Guidelines" not in desk.get(rate_url(project))


def test_addresses_in_a_message_are_links_and_nothing_else_is(desk, project, items, rater, lead):
    text = (
        "See https://example.org/a?b=1&c=<b>, (http://example.org/d).\n"
        "Not javascript:alert(1), example.org or <script>."
    )
    rater_messages.send_messages(raters=[rater], text=text, by=lead)
    link = '<a href="{0}" target="_blank" rel="noopener noreferrer nofollow">{0}</a>'
    for address in (rate_url(project), f"/projects/{project.pk}/my-ratings/"):
        page = desk.get(address).text
        told = page.split('aria-label="Message">')[1].split("</div>")[0]
        assert told == (
            f"See {link.format('https://example.org/a?b=1&amp;c=')}&lt;b&gt;,"
            f" ({link.format('http://example.org/d')}).<br>"
            "Not javascript:alert(1), example.org or &lt;script&gt;."
        )


def test_nothing_of_the_desk_is_kept_by_caches(desk, project, items):
    for page in ("rate/", "rate/next/", "my-ratings/"):
        assert "no-store" in desk.get(f"/projects/{project.pk}/{page}")["Cache-Control"]


def test_the_desk_asks_each_thing_once(desk, project, items, question):
    """With the journeys that begin and end a transaction. SQLite gets the statements one by one."""
    desk.get(rate_url(project))
    submit(desk, project, items[0], question, 2)
    desk.get(rate_url(project))
    one_by_one = connection.vendor == "sqlite"
    with journeys() as taken:
        response = desk.post(rate_url(project, items[1]), answers((question, 2)), **SHEET)
    assert taken() == (44 if one_by_one else 23)
    assert "Text number 2" in response.content.decode()
    with journeys() as taken:
        desk.get(rate_url(project), **SHEET)
    assert taken() == (19 if one_by_one else 10)
