"""Test warnings and pauses by evidence on gold, through HTTP and the sweep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.test import Client

from events.models import Event
from metrics.agreement.rater_quality.gold import (
    PAUSE_EVIDENCE,
    compute_evidence,
    count_answers_until_pause,
)
from metrics.jobs.question_updates import update_question
from projects.models import Item, Question, Rater
from projects.services.gold import set_gold_answer
from quality.gold import recomputation, services
from quality.models import GoldIntervention, GoldScore

pytestmark = pytest.mark.django_db

RIGHT, WRONG = "minor", "critical"


@pytest.fixture
def question_with_gold(question: Question, lead: User) -> Question:
    for number in range(24):
        item = Item.objects.create(
            project=question.project, key=f"g{number:02}", body={"text": f"gold {number}"}
        )
        set_gold_answer(item=item, question=question, answer=[1], by=lead)
    return question


@pytest.fixture
def answer_gold(question_with_gold: Question, rate: Callable[..., Any]) -> Callable[..., None]:
    """Return a function by which ann answers so many more gold items; then scores are recomputed."""
    answers_so_far: list[int] = []

    def answer_items(label: str, times: int) -> None:
        for _ in range(times):
            rate(question_with_gold, f"g{len(answers_so_far):02}", "ann", label)
            answers_so_far.append(1)
        update_question(question_with_gold.pk)
        recomputation.recompute_question(question_with_gold.pk, at_once=True)

    return answer_items


def set_rule(client: Client, question: Question, rule: str) -> str:
    page = f"/projects/{question.project_id}/gold/"
    assert client.post(f"{page}settings/", {"pass_mark": "0.7", "rule": rule}).status_code == 302
    return page


def test_a_pause_is_proposed_and_the_lead_decides(
    question_with_gold: Question,
    answer_gold: Callable[..., None],
    lead: User,
    annotator: User,
    client_for: Callable[[User], Client],
    api_for: Callable[[User], Any],
) -> None:
    lead_client, annotator_client = client_for(lead), client_for(annotator)
    page = f"/projects/{question_with_gold.project_id}/gold/"
    answer_gold(WRONG, 4)
    assert not GoldIntervention.objects.exists()  # off by default
    assert (
        lead_client.post(f"{page}settings/", {"pass_mark": "0.7", "rule": "odd"}).status_code == 400
    )
    set_rule(lead_client, question_with_gold, "propose")
    recomputation.recompute_question(question_with_gold.pk, at_once=True)
    warning = GoldIntervention.objects.get()
    assert (warning.step, warning.state) == ("warn", "proposed")
    assert services.WARN_AT <= warning.evidence < PAUSE_EVIDENCE
    rating_url = f"/projects/{question_with_gold.project_id}/rate/"
    assert "known answers" not in annotator_client.get(rating_url).text
    lead_client.post(f"{page}interventions/{warning.pk}/", {"do": "carry_out"})
    assert "Too many known answers are wrong" in annotator_client.get(rating_url).text
    api, address = api_for(annotator), f"/api/v1/projects/{question_with_gold.project_id}/next/"
    assert "Read the guidelines again" in api.get(address).json()["notice"]

    answer_gold(WRONG, 6)
    answer_gold(RIGHT, 2)  # the highest evidence counts, however often it is checked
    pause = GoldIntervention.objects.get(step="pause")
    assert pause.state == "proposed" and not Rater.objects.get(key="ann").paused
    assert "Pause rater" in lead_client.get(page).text
    lead_client.post(f"{page}interventions/{pause.pk}/", {"do": "carry_out"})
    ann = Rater.objects.get(key="ann")
    assert (ann.paused, ann.gold_notice) == (True, "paused")
    assert "Too many known answers were wrong." in annotator_client.get(rating_url).text
    forbidden = api.get(address)
    assert forbidden.status_code == 403 and "right answer is known" in forbidden.text

    lead_client.post(f"{page}interventions/{pause.pk}/", {"do": "override", "reason": " "})
    assert Rater.objects.get(key="ann").paused
    lead_client.post(
        f"{page}interventions/{pause.pk}/", {"do": "override", "reason": "was trained anew"}
    )
    ann.refresh_from_db()
    assert (ann.paused, ann.gold_notice) == (False, "")
    assert set(GoldIntervention.objects.values_list("state", "reason")) == {
        ("overridden", "was trained anew")
    }
    # The evidence restarts with the answers that come after.
    answer_gold(WRONG, 2)
    score = GoldScore.objects.get(rater=ann)
    assert score.n == 14 and score.max_evidence == pytest.approx(compute_evidence([0, 0])[-1])
    assert not GoldIntervention.objects.exclude(state="overridden").exists()
    kinds = set(Event.objects.values_list("kind", flat=True))
    assert {
        "gold.warn_proposed",
        "gold.pause_carried_out",
        "gold.overridden",
        "rater.paused",
    } <= kinds


def test_automatic_pause_can_be_resumed_on_the_members_page(
    question_with_gold: Question,
    answer_gold: Callable[..., None],
    lead: User,
    client_for: Callable[[User], Client],
) -> None:
    lead_client = client_for(lead)
    set_rule(lead_client, question_with_gold, "automatic")
    answer_gold(WRONG, 12)
    intervention = GoldIntervention.objects.get()
    assert (intervention.step, intervention.state, intervention.by) == ("pause", "done", None)
    ann = Rater.objects.get(key="ann")
    assert (ann.paused, ann.gold_notice) == (True, "paused")
    answer_gold(WRONG, 1)
    assert GoldIntervention.objects.count() == 1
    form_data = {"do": "resume", "person": f"r{ann.pk}"}
    lead_client.post(f"/projects/{question_with_gold.project_id}/people/action/", form_data)
    answer_gold(RIGHT, 1)
    intervention.refresh_from_db()
    assert (intervention.state, intervention.reason) == ("overridden", services.RESUMED)
    ann.refresh_from_db()
    assert (ann.paused, ann.gold_notice) == (False, "")


def test_at_most_one_in_a_hundred_good_raters_is_paused() -> None:
    """Raters at the threshold, checked after every one of 400 answers."""
    rng = np.random.default_rng(20)
    paused = [
        count_answers_until_pause(compute_evidence(rng.random(400) < 0.7, 0.7)) is not None
        for _ in range(2_000)
    ]
    assert np.mean(paused) <= 0.01
    warned = [
        count_answers_until_pause(compute_evidence(rng.random(400) < 0.7, 0.7), 20.0) is not None
        for _ in range(500)
    ]
    assert np.mean(warned) <= 0.05
