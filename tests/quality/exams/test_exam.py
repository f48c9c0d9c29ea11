"""The exam before the first item, through HTTP: at the desk, by API, and for the lead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from events.models import Event
from projects.models import Item, Project, Question, Rater
from projects.services.items.gold import retire_gold_answer, set_gold_answer
from projects.services.projects import change_project
from quality.exams import settings
from quality.gold import recompute
from quality.models import GoldItem, GoldScore
from ratings.annotation.assignments import exams
from ratings.models import Apart, Assignment, Exam, Rating
from tests.ratings.annotation.test_rate import answers, rate_url, submit

pytestmark = pytest.mark.django_db

GOLD, ITEMS = 24, 30
RIGHT, WRONG = 1, 3
RULES = {"p_fail": "0.6", "p_pass": "0.8", "alpha": "0.05", "beta": "0.05", "most": "50"}

UNDO = 'data-do="undo"'


@pytest.fixture
def items(project: Project, question: Question, lead: User) -> list[Item]:
    """Thirty, of which 24 have a gold answer; an exam is required, with two tries."""
    made = Item.objects.bulk_create(
        Item(project=project, key=f"i{number:02}", body={"text": f"Text {number}"})
        for number in range(ITEMS)
    )
    for item in made[:GOLD]:
        set_gold_answer(
            item=item, question=question, answer=[RIGHT], by=lead, explanation=f"as {item}"
        )
    settings.set_exam_rules(question=question, by=lead, required=True)
    return made


@pytest.fixture
def desk(client_for: Callable[[User], Client], annotator: User) -> Client:
    return client_for(annotator)


def sit(desk: Client, project: Project, question: Question, code: int, times: int) -> Any:
    """Begin an exam and answer so many of its items, all alike."""
    answer: Any = desk.post(f"/projects/{project.pk}/exam/", follow=True)
    for _ in range(times):
        item = desk.get(rate_url(project)).context["item"]
        answer = submit(desk, project, item, question, code)
        assert answer.status_code == 302, answer.text
    return answer


def test_eleven_right_answers_pass_and_stand_apart(
    items: list[Item], project: Project, question: Question, desk: Client
) -> None:
    first = desk.get(rate_url(project))
    assert "First an exam" in first.text and first.context.get("item") is None
    assert UNDO not in first.text
    sit(desk, project, question, RIGHT, 10)
    page = desk.get(rate_url(project))
    order = Exam.objects.get().items
    assert len(order) == GOLD and page.context["item"].pk == order[10]
    assert "answer 11 of 24 at most" in page.text and UNDO not in page.text
    assert "as i" not in desk.get(f"/projects/{project.pk}/exam/").text
    # Laid ready is nothing, for the next answer may be the last; skipping and undoing are not.
    assert desk.get(f"{rate_url(project)}next/?showing={order[10]}").status_code == 204
    assert desk.post(f"{rate_url(project)}{order[10]}/skip/", {"reason": "no"}).status_code == 409
    undone = desk.post(f"{rate_url(project)}last/", {"before": order[10]})
    assert undone.status_code == 302 and Apart.objects.filter(stands=True).count() == 10
    second = submit(desk, project, Item.objects.get(pk=order[0]), question, WRONG)
    assert second.status_code == 403
    assert not Rating.objects.exists()

    last = submit(desk, project, page.context["item"], question, RIGHT)
    assert last["Location"] == f"/projects/{project.pk}/exam/"
    review = desk.get(last["Location"]).text
    said = (
        "Passed: 11 of your 11 answers were right."
        " Somebody who is right only 6 times in 10 would pass at most 1 such exam in 20."
    )
    assert said in " ".join(review.split())
    assert review.count("You said <strong>minor</strong>") == 11
    exam = Exam.objects.get()
    assert (exam.state, exam.right, len(exam.course)) == ("passed", 11, 11)
    kinds = list(Event.objects.filter(kind__startswith="exam").values_list("kind", flat=True))
    assert kinds == ["exam_rules_changed", "exam_began", "exam_passed"]

    page = desk.get(rate_url(project))
    item = page.context["item"]
    assert item.pk not in order[:11]
    # What the exam asked is not what was answered last here.
    assert UNDO in page.text
    last = {"before": item.pk}
    sheet = {"X-Desk": "sheet"}
    assert desk.post(f"{rate_url(project)}last/", last, headers=sheet).status_code == 204
    submit(desk, project, item, question, RIGHT)
    assert Rating.objects.get().item == item
    assert Apart.objects.filter(why="exam", stands=True).count() == 11
    # They are exposures of the gold answers, and no score.
    recompute.recompute_question(question.pk)
    assert GoldItem.objects.filter(exposures=1).count() == 11 + (item.pk in order)
    score = GoldScore.objects.filter(rater__key="ann").first()
    assert (score.n if score else 0) == (item.pk in order)


def test_before_an_exam_it_is_told_what_it_is(
    items: list[Item], project: Project, desk: Client, lead: User
) -> None:
    guidelines = f'<a class="button" href="/projects/{project.pk}/guidelines/"'
    assert guidelines not in desk.get(rate_url(project)).text  # there are none
    change_project(project=project, by=lead, guidelines="Look twice.")
    for address in (rate_url(project), f"/projects/{project.pk}/exam/"):
        page = desk.get(address).text
        assert "known: 24 at most, often fewer." in page
        assert "11 right ones from the start pass" in page
        assert "You have 2 tries, each with other items." in page
        assert "there may be too few new items for the next" in page  # 24 at most, and 11 at least
        assert guidelines in page
        assert " more</span>" not in page  # what is left comes after it


def test_who_met_too_many_gold_items_to_begin_is_told_to_the_lead(
    items: list[Item],
    project: Project,
    question: Question,
    desk: Client,
    lead: User,
    rate: Any,
    client_for: Callable[[User], Client],
) -> None:
    """They may not rate, and nobody else would know why."""
    leads, stuck = client_for(lead), "Cannot begin: too few gold items are new to them."
    assert stuck not in leads.get(f"/projects/{project.pk}/exams/").text
    for item in items[: GOLD - 10]:
        rate(question, item.key, "ann", "minor")
    assert "too few items with known answers" in desk.get(rate_url(project)).text
    assert stuck in leads.get(f"/projects/{project.pk}/exams/").text


def test_answers_of_an_exam_are_no_ratings_and_are_read_alone(
    items: list[Item], project: Project, question: Question, desk: Client
) -> None:
    sit(desk, project, question, RIGHT, 10)
    during = desk.get(rate_url(project)).text
    assert "Exam: answer 11 of 24 at most" in during
    assert "rated" not in during.split('class="sheet__progress"')[1].split("</div>")[0]
    sit(desk, project, question, RIGHT, 1)
    submit(desk, project, desk.get(rate_url(project)).context["item"], question, WRONG)
    listed = f"/projects/{project.pk}/my-ratings/"
    page = desk.get(listed)
    assert "Items rated: 1, of them today: 1." in page.text
    assert "11 answers of exams stand apart: they are no ratings" in page.text
    assert len(page.context["rows"]) == 1 and "Change</a>" in page.text
    page = desk.get(f"{listed}?show=exam")
    assert len(page.context["rows"]) == 11 and "Change</a>" not in page.text
    item = page.context["rows"][0]["item"]
    shown = desk.get(rate_url(project, item)).text
    assert "You have answered this item in an exam: that stays." in shown
    assert '<p class="said__answer">minor</p>' in shown
    assert 'type="radio"' not in shown and "Store the change" not in shown


def test_the_sheet_that_ends_an_exam_offers_no_undo(
    items: list[Item], project: Project, question: Question, desk: Client
) -> None:
    sit(desk, project, question, RIGHT, 10)
    item = desk.get(rate_url(project)).context["item"]
    sent = answers((question, RIGHT))
    ended = desk.post(rate_url(project, item), sent, headers={"X-Desk": "sheet"}).text
    assert "See the answers" in ended
    assert UNDO not in ended


def test_who_fails_sees_the_answers_and_tries_others_until_the_lead_is_told(
    items: list[Item],
    project: Project,
    question: Question,
    desk: Client,
    lead: User,
    client_for: Callable[[User], Client],
) -> None:
    last = sit(desk, project, question, WRONG, 5)
    review = desk.get(last["Location"]).text
    assert "Not passed: 0 of your 5 answers were right." in " ".join(review.split())
    exam = Exam.objects.get()
    assert review.count("right is <strong>minor</strong>") == 5
    assert all(f"as i{pk}"[:4] in review for pk, *_rest in exam.course)
    assert "You have 1 try." in review and "Begin the next try" in review
    assert desk.get(rate_url(project)).context.get("item") is None

    sit(desk, project, question, WRONG, 5)
    first, second = Exam.objects.order_by("number")
    assert not {pk for pk, *_ in first.course} & set(second.items)
    page = desk.get(rate_url(project))
    assert "Your lead has been told" in page.text
    assert " more</span>" not in page.text and 'href="/">My projects</a>' in page.text
    desk.post(f"/projects/{project.pk}/exam/")
    assert Exam.objects.count() == 2

    leads = client_for(lead)
    address = f"/projects/{project.pk}/exams/"
    shown = leads.get(address).text
    assert "no try left" in shown
    ann = Rater.objects.get(key="ann")
    leads.post(f"{address}{ann.pk}/", {"do": "grant", "reason": ""})
    assert Exam.objects.count() == 2
    leads.post(f"{address}{ann.pk}/", {"do": "grant", "reason": "was ill"})
    assert Exam.objects.get(number=3).reason == "was ill"
    assert desk.get(rate_url(project)).context["in_exam"].number == 3
    leads.post(f"{address}{ann.pk}/", {"do": "waive", "reason": "knows the field"})
    assert Exam.objects.get(number=3).state == "waived"
    item = desk.get(rate_url(project)).context["item"]
    assert Assignment.objects.get(rater=ann, state="open", item=item).why == ""
    kinds = set(Event.objects.values_list("kind", flat=True))
    assert {"exam_failed", "exam_granted", "exam_waived"} <= kinds


def test_by_api_the_same_rule(
    items: list[Item],
    project: Project,
    question: Question,
    api_for: Callable[[User], Any],
    annotator: User,
    lead: User,
    give: Callable[..., None],
) -> None:
    api = api_for(annotator)
    base = f"/api/v1/projects/{project.pk}/"
    give(project, "ann", "i29")  # given before the exam was asked for
    mine = {"item": "i29", "rater": "ann", "label": "none"}
    refused = api.post(f"{base}ratings/", mine, format="json")
    assert refused.status_code == 403
    assert "Pass the exam first" in refused.json()["error"]["message"]
    plain = {"item": "i29", "answers": {"severity": "none"}}
    assert api.post(f"{base}next/", plain, format="json").status_code == 403
    assert not Rating.objects.exists()
    told = api.get(f"{base}next/").json()
    assert told["exam"]["state"] == "open" and told["exam"]["right"] is None
    for _ in range(11):
        said = {"item": told["item"]["key"], "answers": {"severity": "minor"}}
        told = api.post(f"{base}next/", said, format="json").json()
    assert told["exam"] == {
        "question": "severity",
        "state": "passed",
        "try": 1,
        "answers": 11,
        "right": 11,
        "most": 24,
    }
    assert told["item"]["key"] == "i29"
    assert api.get(f"{base}next/").json()["exam"] is None
    assert api.post(f"{base}ratings/", mine, format="json").status_code == 200
    # Who leads, and models, rate for anybody.
    Rater.objects.create(project=project, key="gpt", kind="model")
    other = {"item": "i28", "rater": "gpt", "label": "none"}
    assert api_for(lead).post(f"{base}ratings/", other, format="json").status_code == 200


def test_retired_and_doubted_gold_and_too_little_of_it(
    items: list[Item], project: Project, question: Question, desk: Client, lead: User
) -> None:
    GoldItem.objects.create(
        gold=items[0].gold_answers.get(),
        question=question,
        item=items[0],
        exposures=3,
        right=0,
        suspected=True,
    )
    sit(desk, project, question, WRONG, 1)
    exam = Exam.objects.get()
    assert items[0].pk not in exam.items
    upcoming = [Item.objects.get(pk=pk) for pk in exam.items[1:3]]
    shown = desk.get(rate_url(project)).context["item"]
    assert shown == upcoming[0]
    for item in upcoming:
        retire_gold_answer(item=item, question=question, by=lead)
    # What lies on the desk counts for nothing, what would have come next does not come.
    submit(desk, project, shown, question, WRONG)
    assert desk.get(rate_url(project)).context["item"].pk == exam.items[3]
    exam.refresh_from_db()
    assert [right for _item, _code, right, _gold in exam.course] == [False, None]
    for item in items[:GOLD]:
        retire_gold_answer(item=item, question=question, by=lead)
    # The answers so far decide.
    assert desk.get(rate_url(project)).context.get("item") is None
    exam.refresh_from_db()
    assert exam.state == "failed"
    page = desk.get(rate_url(project)).text
    assert "too few items with known answers" in page
    with pytest.raises(exams.ExamNotAvailable):
        exams.begin_exam(question=question, rater=Rater.objects.get(key="ann"))


def test_hidden_gold_does_not_come_again_and_those_who_rated_are_let_off(
    items: list[Item],
    project: Project,
    question: Question,
    desk: Client,
    lead: User,
    rate: Callable[..., Any],
    client_for: Callable[[User], Client],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sit(desk, project, question, RIGHT, 11)
    seen = {pk for pk, *_rest in Exam.objects.get().course}
    Project.objects.update(gold_percent=50, queue_order="random")
    monkeypatch.setattr(
        "ratings.annotation.assignments.hidden_checks._draw_fraction", lambda *_about: 0.0
    )
    for _ in range(GOLD - 11):
        submit(desk, project, desk.get(rate_url(project)).context["item"], question, RIGHT)
    hidden = set(Assignment.objects.filter(why="gold").values_list("item", flat=True))
    assert len(hidden) == GOLD - 11 and not hidden & seen

    address = f"/projects/{project.pk}/exams/"
    leads = client_for(lead)
    assert leads.post(address, {**RULES, "tries": "1"}).status_code == 302
    rate(question, "i29", "bea", "none")
    wrong = leads.post(address, {**RULES, "required": "on", "p_pass": "0.61", "tries": "1"})
    assert wrong.status_code == 400
    assert leads.post(address, {**RULES, "required": "on", "tries": "1"}).status_code == 302
    bea = Exam.objects.get(rater__key="bea")
    assert (bea.state, bea.reason) == ("waived", settings.RATED_BEFORE)
    shown = " ".join(leads.get(address).text.split())
    assert "which one try takes 24 at most" in shown and "waived" in shown
