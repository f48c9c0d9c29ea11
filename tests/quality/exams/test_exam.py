"""Test the exam before the first item through HTTP: at annotation, by API, and for the lead."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from events.models import Event
from projects.models import Item, Project, Question, Rater
from projects.services.gold import retire_gold_answer, set_gold_answer
from projects.services.projects import change_project
from quality.exams import exam_rules
from quality.gold import recomputation
from quality.models import GoldItem, GoldScore, GoldState
from ratings.annotation.assignments import exams
from ratings.models import Assignment, CheckAnswer, Exam, ExamRules, Rating
from tests.ratings.annotation.test_rate import build_answer_data, get_rate_url, submit

pytestmark = pytest.mark.django_db

GOLD, ITEMS = 24, 30
RIGHT, WRONG = 1, 3
RULES = {"p_fail": "0.6", "p_pass": "0.8", "alpha": "0.05", "beta": "0.05", "max_answers": "50"}

UNDO_BUTTON = 'data-do="undo"'


@pytest.fixture
def items(project: Project, question: Question, lead: User) -> list[Item]:
    """Thirty items, 24 of them with a gold answer; an exam is required, with two tries."""
    items = Item.objects.bulk_create(
        Item(project=project, key=f"i{number:02}", body={"text": f"Text {number}"})
        for number in range(ITEMS)
    )

    def set_answer(item: Item, code: int) -> None:
        set_gold_answer(
            item=item, question=question, answer=[code], by=lead, explanation=f"as {item}"
        )

    for item in items[:GOLD]:
        set_answer(item, RIGHT)
    # An exam whose gold answers are all the same is refused when it is required.
    set_answer(items[GOLD - 1], WRONG)
    exam_rules.set_exam_rules(question=question, by=lead, required=True)
    set_answer(items[GOLD - 1], RIGHT)
    return items


@pytest.fixture
def annotator_client(client_for: Callable[[User], Client], annotator: User) -> Client:
    return client_for(annotator)


def take_exam(client: Client, project: Project, question: Question, code: int, times: int) -> Any:
    """Begin an exam and answer so many of its items, all with the same code."""
    response: Any = client.post(f"/projects/{project.pk}/exam/", follow=True)
    for _ in range(times):
        item = client.get(get_rate_url(project)).context["item"]
        response = submit(client, project, item, question, code)
        assert response.status_code == 302, response.text
    return response


def test_eleven_right_answers_pass_and_are_no_ratings(
    items: list[Item], project: Project, question: Question, annotator_client: Client
) -> None:
    first_page = annotator_client.get(get_rate_url(project))
    assert "Qualification exam" in first_page.text and first_page.context.get("item") is None
    assert UNDO_BUTTON not in first_page.text
    take_exam(annotator_client, project, question, RIGHT, 10)
    page = annotator_client.get(get_rate_url(project))
    order = Exam.objects.get().items
    assert len(order) == GOLD and page.context["item"].pk == order[10]
    assert "answer 11 of up to 24" in page.text and UNDO_BUTTON not in page.text
    assert "as i" not in annotator_client.get(f"/projects/{project.pk}/exam/").text
    # No item is preloaded, as the next answer may be the last; skip is refused, undo changes nothing.
    assert (
        annotator_client.get(f"{get_rate_url(project)}next/?showing={order[10]}").status_code == 204
    )
    assert (
        annotator_client.post(
            f"{get_rate_url(project)}{order[10]}/skip/", {"reason": "no"}
        ).status_code
        == 409
    )
    undo_response = annotator_client.post(f"{get_rate_url(project)}undo/", {"before": order[10]})
    assert (
        undo_response.status_code == 302
        and CheckAnswer.objects.filter(is_current=True).count() == 10
    )
    second_answer = submit(
        annotator_client, project, Item.objects.get(pk=order[0]), question, WRONG
    )
    assert second_answer.status_code == 403
    assert not Rating.objects.exists()

    last = submit(annotator_client, project, page.context["item"], question, RIGHT)
    assert last["Location"] == f"/projects/{project.pk}/exam/"
    review = annotator_client.get(last["Location"]).text
    assert "11 of 11 answers were right." in " ".join(review.split())
    assert review.count("You answered <strong>minor</strong>") == 11
    exam = Exam.objects.get()
    assert (exam.state, exam.n_right, len(exam.answers)) == ("passed", 11, 11)
    kinds = list(Event.objects.filter(kind__startswith="exam").values_list("kind", flat=True))
    assert kinds == ["exam_rules.changed", "exam.started", "exam.passed"]

    page = annotator_client.get(get_rate_url(project))
    item = page.context["item"]
    assert item.pk not in order[:11]
    # Answers of the exam do not count as the last answer that undo takes.
    assert UNDO_BUTTON in page.text
    last = {"before": item.pk}
    headers = {"X-Annotation": "sheet"}
    assert (
        annotator_client.post(f"{get_rate_url(project)}undo/", last, headers=headers).status_code
        == 204
    )
    submit(annotator_client, project, item, question, RIGHT)
    assert Rating.objects.get().item == item
    assert CheckAnswer.objects.filter(kind="exam", is_current=True).count() == 11
    # Exam answers count as exposures of the gold answers, but give no score.
    recomputation.recompute_question(question.pk)
    assert GoldItem.objects.filter(exposures=1).count() == 11 + (item.pk in order)
    score = GoldScore.objects.filter(rater__key="ann").first()
    assert (score.n if score else 0) == (item.pk in order)


def test_exam_is_explained_before_it_begins(
    items: list[Item], project: Project, annotator_client: Client, lead: User
) -> None:
    guidelines = f'<a class="button" href="/projects/{project.pk}/guidelines/"'
    assert guidelines not in annotator_client.get(get_rate_url(project)).text  # there are none
    change_project(project=project, by=lead, guidelines="Look twice.")
    for address in (get_rate_url(project), f"/projects/{project.pk}/exam/"):
        page = annotator_client.get(address).text
        assert "You rate up to 24 items." in page
        assert "You pass if the first 11 are right" in page
        assert "You have 2 attempts with different items." in page
        assert "too few items may remain" in page  # 24 at most, and 11 at least
        assert guidelines in page
        assert " more</span>" not in page  # remaining items come after the exam


def test_exam_pages_count_on_the_gold_items_there_are(
    items: list[Item],
    project: Project,
    question: Question,
    annotator_client: Client,
    client_for: Callable[[User], Client],
    lead: User,
) -> None:
    """With 12 gold items no second attempt is possible, because 11 must be new to the rater."""
    exam_url = f"/projects/{project.pk}/exams/"
    page = client_for(lead).get(exam_url).text
    assert re.findall(r"About (\d+) items", page) == ["18", "21", "23"]  # of 24 gold items
    for item in items[12:GOLD]:
        retire_gold_answer(item=item, question=question, by=lead)
    page = client_for(lead).get(exam_url).text
    assert re.findall(r"About (\d+) items", page) == ["11", "12", "12"]
    page = annotator_client.get(f"/projects/{project.pk}/exam/").text
    assert "up to 12 items" in page
    assert "You have 1 attempt." in page and "too few items may remain" not in page


def test_lead_sees_rater_with_too_few_new_gold_items(
    items: list[Item],
    project: Project,
    question: Question,
    annotator_client: Client,
    lead: User,
    rate: Any,
    client_for: Callable[[User], Client],
) -> None:
    """Such a rater may not rate, and nobody else would know why."""
    lead_client, notice = client_for(lead), "Too few new gold items"
    assert notice not in lead_client.get(f"/projects/{project.pk}/exams/").text
    for item in items[: GOLD - 10]:
        rate(question, item.key, "ann", "minor")
    assert "Too few known answers" in annotator_client.get(get_rate_url(project)).text
    assert notice in lead_client.get(f"/projects/{project.pk}/exams/").text


def test_exam_answers_are_listed_separately_and_read_only(
    items: list[Item], project: Project, question: Question, annotator_client: Client
) -> None:
    take_exam(annotator_client, project, question, RIGHT, 10)
    exam_page = annotator_client.get(get_rate_url(project)).text
    assert "Exam: answer 11 of up to 24" in exam_page
    assert "rated" not in exam_page.split('class="sheet__progress"')[1].split("</div>")[0]
    take_exam(annotator_client, project, question, RIGHT, 1)
    submit(
        annotator_client,
        project,
        annotator_client.get(get_rate_url(project)).context["item"],
        question,
        WRONG,
    )
    ratings_url = f"/projects/{project.pk}/my-ratings/"
    page = annotator_client.get(ratings_url)
    assert "1 rated in total, 1 today." in page.text
    assert "11 exam answers aren't ratings" in page.text
    assert len(page.context["rows"]) == 1 and "Change</a>" in page.text
    page = annotator_client.get(f"{ratings_url}?show=exam")
    assert len(page.context["rows"]) == 11 and "Change</a>" not in page.text
    item = page.context["rows"][0]["item"]
    item_page = annotator_client.get(get_rate_url(project, item)).text
    assert "Exam answers are final." in item_page
    assert '<p class="said__answer">minor</p>' in item_page
    assert 'type="radio"' not in item_page and "Store the change" not in item_page


def test_last_page_of_an_exam_offers_no_undo(
    items: list[Item], project: Project, question: Question, annotator_client: Client
) -> None:
    take_exam(annotator_client, project, question, RIGHT, 10)
    item = annotator_client.get(get_rate_url(project)).context["item"]
    form_data = build_answer_data((question, RIGHT))
    page = annotator_client.post(
        get_rate_url(project, item), form_data, headers={"X-Annotation": "sheet"}
    ).text
    assert "View answers" in page
    assert UNDO_BUTTON not in page


def test_failed_rater_sees_answers_and_has_limited_attempts(
    items: list[Item],
    project: Project,
    question: Question,
    annotator_client: Client,
    lead: User,
    client_for: Callable[[User], Client],
) -> None:
    last_response = take_exam(annotator_client, project, question, WRONG, 5)
    review = annotator_client.get(last_response["Location"]).text
    assert "0 of 5 answers were right." in " ".join(review.split())
    exam = Exam.objects.get()
    assert review.count("known answer: <strong>minor</strong>") == 5
    assert all(f"as i{pk}"[:4] in review for pk, *_rest in exam.answers)
    assert "You have 1 attempt." in review and "Start next attempt" in review
    assert annotator_client.get(get_rate_url(project)).context.get("item") is None

    take_exam(annotator_client, project, question, WRONG, 5)
    first, second = Exam.objects.order_by("number")
    assert not {pk for pk, *_ in first.answers} & set(second.items)
    page = annotator_client.get(get_rate_url(project))
    assert "Ask your lead" in page.text
    assert " more</span>" not in page.text and 'href="/">My projects</a>' in page.text
    annotator_client.post(f"/projects/{project.pk}/exam/")
    assert Exam.objects.count() == 2

    lead_client = client_for(lead)
    address = f"/projects/{project.pk}/exams/"
    exams_page = lead_client.get(address).text
    assert "No attempts left" in exams_page
    ann = Rater.objects.get(key="ann")
    lead_client.post(f"{address}{ann.pk}/", {"do": "grant", "reason": ""})
    assert Exam.objects.count() == 2
    lead_client.post(f"{address}{ann.pk}/", {"do": "grant", "reason": "was ill"})
    assert Exam.objects.get(number=3).reason == "was ill"
    assert annotator_client.get(get_rate_url(project)).context["in_exam"].number == 3
    lead_client.post(f"{address}{ann.pk}/", {"do": "waive", "reason": "knows the field"})
    assert Exam.objects.get(number=3).state == "waived"
    item = annotator_client.get(get_rate_url(project)).context["item"]
    assert Assignment.objects.get(rater=ann, state="open", item=item).kind == ""
    kinds = set(Event.objects.values_list("kind", flat=True))
    assert {"exam.failed", "exam.retry_granted", "exam.waived"} <= kinds


def test_api_applies_the_same_exam_rule(
    items: list[Item],
    project: Project,
    question: Question,
    api_for: Callable[[User], Any],
    annotator: User,
    lead: User,
    assign_items: Callable[..., None],
) -> None:
    api = api_for(annotator)
    base = f"/api/v1/projects/{project.pk}/"
    assign_items(project, "ann", "i29")  # assigned before the exam was required
    own_rating = {"item": "i29", "rater": "ann", "label": "none"}
    forbidden = api.post(f"{base}ratings/", own_rating, format="json")
    assert forbidden.status_code == 403
    assert "Pass the exam first" in forbidden.json()["error"]["message"]
    plain_answer = {"item": "i29", "answers": {"severity": "none"}}
    assert api.post(f"{base}next/", plain_answer, format="json").status_code == 403
    assert not Rating.objects.exists()
    next_item = api.get(f"{base}next/").json()
    assert next_item["exam"]["state"] == "open" and next_item["exam"]["right"] is None
    for _ in range(11):
        answer = {"item": next_item["item"]["key"], "answers": {"severity": "minor"}}
        next_item = api.post(f"{base}next/", answer, format="json").json()
    assert next_item["exam"] == {
        "question": "severity",
        "state": "passed",
        "attempt": 1,
        "answers": 11,
        "right": 11,
        "max_answers": 24,
    }
    assert next_item["item"]["key"] == "i29"
    assert api.get(f"{base}next/").json()["exam"] is None
    assert api.post(f"{base}ratings/", own_rating, format="json").status_code == 200
    # Leads may add ratings for any rater, also for models.
    Rater.objects.create(project=project, key="gpt", kind="model")
    model_rating = {"item": "i28", "rater": "gpt", "label": "none"}
    assert api_for(lead).post(f"{base}ratings/", model_rating, format="json").status_code == 200


def test_exam_skips_retired_and_suspected_gold(
    items: list[Item], project: Project, question: Question, annotator_client: Client, lead: User
) -> None:
    GoldItem.objects.create(
        gold=items[0].gold_answers.get(),
        question=question,
        item=items[0],
        exposures=3,
        right=0,
        suspected=True,
    )
    take_exam(annotator_client, project, question, WRONG, 1)
    exam = Exam.objects.get()
    assert items[0].pk not in exam.items
    upcoming = [Item.objects.get(pk=pk) for pk in exam.items[1:3]]
    open_item = annotator_client.get(get_rate_url(project)).context["item"]
    assert open_item == upcoming[0]
    for item in upcoming:
        retire_gold_answer(item=item, question=question, by=lead)
    # The open item no longer counts, and the next retired item is not shown.
    submit(annotator_client, project, open_item, question, WRONG)
    assert annotator_client.get(get_rate_url(project)).context["item"].pk == exam.items[3]
    exam.refresh_from_db()
    assert [right for _item, _code, right, _gold in exam.answers] == [False, None]
    for item in items[:GOLD]:
        retire_gold_answer(item=item, question=question, by=lead)
    # The answers given so far decide the exam.
    assert annotator_client.get(get_rate_url(project)).context.get("item") is None
    exam.refresh_from_db()
    assert exam.state == "failed"
    page = annotator_client.get(get_rate_url(project)).text
    assert "Too few known answers" in page
    with pytest.raises(exams.ExamNotAvailable):
        exams.get_or_start_exam(question=question, rater=Rater.objects.get(key="ann"))


def test_hidden_gold_skips_exam_items_and_past_raters_are_waived(
    items: list[Item],
    project: Project,
    question: Question,
    annotator_client: Client,
    lead: User,
    rate: Callable[..., Any],
    client_for: Callable[[User], Client],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    take_exam(annotator_client, project, question, RIGHT, 11)
    exam_items = {pk for pk, *_rest in Exam.objects.get().answers}
    Project.objects.update(gold_percent=50, queue_order="random")
    monkeypatch.setattr(
        "ratings.annotation.assignments.hidden_checks._draw_fraction", lambda *_about: 0.0
    )
    for _ in range(GOLD - 11):
        submit(
            annotator_client,
            project,
            annotator_client.get(get_rate_url(project)).context["item"],
            question,
            RIGHT,
        )
    hidden = set(Assignment.objects.filter(kind="gold").values_list("item", flat=True))
    assert len(hidden) == GOLD - 11 and not hidden & exam_items

    address = f"/projects/{project.pk}/exams/"
    lead_client = client_for(lead)
    assert lead_client.post(address, {**RULES, "max_attempts": "1"}).status_code == 302
    rate(question, "i29", "bea", "none")
    invalid = lead_client.post(
        address, {**RULES, "required": "on", "p_pass": "0.61", "max_attempts": "1"}
    )
    assert invalid.status_code == 400
    set_gold_answer(item=items[0], question=question, answer=[WRONG], by=lead)
    assert (
        lead_client.post(address, {**RULES, "required": "on", "max_attempts": "1"}).status_code
        == 302
    )
    bea = Exam.objects.get(rater__key="bea")
    assert (bea.state, bea.reason) == ("waived", exam_rules.RATED_BEFORE)
    exams_page = lead_client.get(address)
    assert exams_page.context["power"].items_each == 24
    assert "Waived" in exams_page.text


@pytest.mark.parametrize("surface", ["page", "api"])
def test_exam_whose_gold_has_one_answer_is_refused(
    items: list[Item], client_for: Any, lead: User, project: Project, question: Question,
    surface: str,
) -> None:  # fmt: skip
    ExamRules.objects.all().delete()
    client = client_for(lead)
    address = f"/projects/{project.pk}/exams/"
    api_address = f"/api/v1/projects/{project.pk}/quality/exam/"

    def require_exam() -> Any:
        if surface == "page":
            return client.post(address, {**RULES, "required": "on", "max_attempts": "2"})
        return client.patch(api_address, {"required": True}, content_type="application/json")

    response = require_exam()
    assert response.status_code == 400
    assert "passes. Add other gold answers first." in html.unescape(response.text)
    assert not ExamRules.objects.exists()
    for item in items[:10]:
        set_gold_answer(item=item, question=question, answer=[WRONG], by=lead)
    assert require_exam().status_code in (200, 302)
    assert ExamRules.objects.get().required


def test_exam_warns_where_one_answer_often_passes(
    items: list[Item], client_for: Any, lead: User, project: Project, question: Question
) -> None:
    set_gold_answer(item=items[0], question=question, answer=[WRONG], by=lead)
    page = client_for(lead).get(f"/projects/{project.pk}/exams/")
    assert page.context["power"].loophole.share == pytest.approx(23 / 24)
    assert "of exams. Add other gold answers." in page.text
    for item in items[1:12]:
        set_gold_answer(item=item, question=question, answer=[WRONG], by=lead)
    assert client_for(lead).get(f"/projects/{project.pk}/exams/").context["power"].loophole is None


def test_exam_difficulty_is_chosen_by_a_preset_or_by_numbers(
    items: list[Item], client_for: Any, lead: User, project: Project
) -> None:
    client, address = client_for(lead), f"/projects/{project.pk}/exams/"
    form = {**RULES, "max_attempts": "2", "preset": "standard"}
    for preset in ("strict", "easy", "standard"):
        assert client.post(address, form | {"preset": preset}).status_code == 302
        rules = ExamRules.objects.get()
        assert exam_rules.get_preset_name(rules) == preset
        form |= {name: str(getattr(rules, name)) for name in exam_rules.PRESETS[preset]}
    # A number changed under Advanced wins over the preset that was shown as chosen.
    assert client.post(address, form | {"p_pass": "0.85"}).status_code == 302
    assert ExamRules.objects.get().p_pass == 0.85
    assert client.get(address).context["form"]["preset"].value() == "custom"
    response = client.post(address, form | {"preset": "strict", "p_pass": "0.7"})
    assert response.status_code == 400
    assert "not both" in response.text
    assert ExamRules.objects.get().p_pass == 0.85


def test_warning_states_the_chance_on_the_items_of_the_exam(
    items: list[Item], client_for: Any, lead: User, project: Project, question: Question
) -> None:
    """Of 12 gold answers, 8 are the same: giving it always fails, whatever the order; of 11, passes."""
    address = f"/projects/{project.pk}/exams/"
    for number, item in enumerate(items[:GOLD]):
        if number < 4:
            set_gold_answer(item=item, question=question, answer=[WRONG], by=lead)
        elif number >= 12:
            retire_gold_answer(item=item, question=question, by=lead)
    assert client_for(lead).get(address).context["power"].loophole is None
    retire_gold_answer(item=items[0], question=question, by=lead)
    loophole = client_for(lead).get(address).context["power"].loophole
    assert (loophole.share, loophole.pass_probability) == pytest.approx((8 / 11, 1.0))


@pytest.mark.parametrize("last_answers", [[WRONG] * 5, [RIGHT] * 11], ids=["failed", "passed"])
def test_answers_of_an_exam_are_evidence_on_gold_once_it_is_passed(
    items: list[Item], client_for: Any, annotator: User, project: Project, question: Question,
    last_answers: list[int],
) -> None:  # fmt: skip
    client = client_for(annotator)
    for code in last_answers:
        take_exam(client, project, question, code, 1)
    recomputation.recompute_question(question.pk, at_once=True)
    exam = Exam.objects.get()
    has_passed = exam.state == Exam.State.PASSED
    assert has_passed == (last_answers[0] == RIGHT)
    for item in GoldItem.objects.filter(item__in=exam.items[: len(last_answers)]):
        assert (item.exposures, item.n_people) == (1, int(has_passed))
    assert GoldState.objects.get().n_check_answers == 0, "no answers to hidden gold"


def test_exam_asks_its_question_alone_and_frees_open_items_when_failed(
    items: list[Item], project: Project, question: Question, annotator_client: Client
) -> None:
    """Regression: each exam item asked the other questions, too, and their answers were dropped."""
    Question.objects.create(project=project, key="other", text="Whom does it affect?", position=9)
    ExamRules.objects.update(required=False)
    opened = annotator_client.get(get_rate_url(project)).context["item"]
    ExamRules.objects.update(required=True)
    take_exam(annotator_client, project, question, RIGHT, 0)
    page = annotator_client.get(get_rate_url(project))
    assert [part.pk for part in page.context["form"].questions] == [question.pk]
    assert '<input type="hidden" name="exam" value="1">' in page.text
    item = page.context["item"]
    assert submit(annotator_client, project, item, question, RIGHT).status_code == 400
    assert submit(annotator_client, project, item, question, RIGHT, exam="1").status_code == 302
    assert Exam.objects.get().scored_answers == [True]
    while Exam.objects.get().state == Exam.State.OPEN:
        item = annotator_client.get(get_rate_url(project)).context["item"]
        submit(annotator_client, project, item, question, WRONG, exam="1")
    assert Exam.objects.get().state == Exam.State.FAILED
    opened.refresh_from_db()
    assert opened.slots_taken == 0, "others may rate it"
    assert Assignment.objects.get(item=opened).state == Assignment.State.EXPIRED
