"""Warnings and pauses by the evidence of gold, through HTTP and the sweep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.test import Client

from events.models import Event
from metrics.agreement.rater_quality.gold import PAUSE_EVIDENCE, compute_evidence, find_pause
from metrics.jobs.question_updates import update_question
from projects.models import Item, Question, Rater
from projects.services.items.gold import set_gold_answer
from quality.gold import interventions, recompute
from quality.models import GoldAct, GoldScore

pytestmark = pytest.mark.django_db

RIGHT, WRONG = "minor", "critical"


@pytest.fixture
def gold(question: Question, lead: User) -> Question:
    for number in range(24):
        item = Item.objects.create(
            project=question.project, key=f"g{number:02}", body={"text": f"gold {number}"}
        )
        set_gold_answer(item=item, question=question, answer=[1], by=lead)
    return question


@pytest.fixture
def says(gold: Question, rate: Callable[..., Any]) -> Callable[..., None]:
    """Ann answers so many more gold items; then the scores are made anew."""
    given: list[int] = []

    def say(label: str, times: int) -> None:
        for _ in range(times):
            rate(gold, f"g{len(given):02}", "ann", label)
            given.append(1)
        update_question(gold.pk)
        recompute.recompute_question(gold.pk, at_once=True)

    return say


def choose(lead: Client, gold: Question, rule: str) -> str:
    page = f"/projects/{gold.project_id}/gold/"
    assert lead.post(f"{page}bar/", {"bar": "0.7", "rule": rule}).status_code == 302
    return page


def test_a_pause_is_proposed_and_the_lead_decides(
    gold: Question,
    says: Callable[..., None],
    lead: User,
    annotator: User,
    client_for: Callable[[User], Client],
    api_for: Callable[[User], Any],
) -> None:
    leads, desk = client_for(lead), client_for(annotator)
    page = f"/projects/{gold.project_id}/gold/"
    says(WRONG, 4)
    assert not GoldAct.objects.exists()  # off at first
    assert leads.post(f"{page}bar/", {"bar": "0.7", "rule": "odd"}).status_code == 400
    choose(leads, gold, "propose")
    recompute.recompute_question(gold.pk, at_once=True)
    warning = GoldAct.objects.get()
    assert (warning.step, warning.state) == ("warn", "proposed")
    assert interventions.WARN_AT <= warning.evidence < PAUSE_EVIDENCE
    desk_page = f"/projects/{gold.project_id}/rate/"
    assert "wrong more often" not in desk.get(desk_page).text
    leads.post(f"{page}acts/{warning.pk}/", {"do": "carry_out"})
    assert "wrong more often than this project allows" in desk.get(desk_page).text
    api, address = api_for(annotator), f"/api/v1/projects/{gold.project_id}/next/"
    assert "Read the guidelines again" in api.get(address).json()["notice"]

    says(WRONG, 6)
    says(RIGHT, 2)  # the highest evidence counts, however often one looks
    pause = GoldAct.objects.get(step="pause")
    assert pause.state == "proposed" and not Rater.objects.get(key="ann").paused
    assert "Pause the rater" in leads.get(page).text
    leads.post(f"{page}acts/{pause.pk}/", {"do": "carry_out"})
    ann = Rater.objects.get(key="ann")
    assert (ann.paused, ann.told) == (True, "paused")
    assert "Which items these were stays hidden" in desk.get(desk_page).text
    refused = api.get(address)
    assert refused.status_code == 403 and "right answer is known" in refused.text

    leads.post(f"{page}acts/{pause.pk}/", {"do": "override", "reason": " "})
    assert Rater.objects.get(key="ann").paused
    leads.post(f"{page}acts/{pause.pk}/", {"do": "override", "reason": "was trained anew"})
    ann.refresh_from_db()
    assert (ann.paused, ann.told) == (False, "")
    assert set(GoldAct.objects.values_list("state", "reason")) == {
        ("overridden", "was trained anew")
    }
    # The evidence begins anew with the answers that come after.
    says(WRONG, 2)
    score = GoldScore.objects.get(rater=ann)
    assert score.n == 14 and score.highest == pytest.approx(compute_evidence([0, 0])[-1])
    assert not GoldAct.objects.exclude(state="overridden").exists()
    kinds = set(Event.objects.values_list("kind", flat=True))
    assert {"gold_warn_proposed", "gold_pause_carried_out", "gold_overridden"} <= kinds


def test_by_rule_at_once_and_resumed_among_the_people(
    gold: Question, says: Callable[..., None], lead: User, client_for: Callable[[User], Client]
) -> None:
    leads = client_for(lead)
    choose(leads, gold, "automatic")
    says(WRONG, 12)
    act = GoldAct.objects.get()
    assert (act.step, act.state, act.by) == ("pause", "done", None)
    ann = Rater.objects.get(key="ann")
    assert (ann.paused, ann.told) == (True, "paused")
    says(WRONG, 1)
    assert GoldAct.objects.count() == 1
    resumed = {"do": "resume", "person": f"r{ann.pk}"}
    leads.post(f"/projects/{gold.project_id}/people/act/", resumed)
    says(RIGHT, 1)
    act.refresh_from_db()
    assert (act.state, act.reason) == ("overridden", interventions.RESUMED)
    ann.refresh_from_db()
    assert (ann.paused, ann.told) == (False, "")


def test_honest_raters_are_paused_in_one_case_of_a_hundred_at_most() -> None:
    """Right as often as the bar asks, looked at after every one of 400 answers."""
    rng = np.random.default_rng(20)
    paused = [
        find_pause(compute_evidence(rng.random(400) < 0.7, 0.7)) is not None for _ in range(2_000)
    ]
    assert np.mean(paused) <= 0.01
    warned = [
        find_pause(compute_evidence(rng.random(400) < 0.7, 0.7), 20.0) is not None
        for _ in range(500)
    ]
    assert np.mean(warned) <= 0.05
