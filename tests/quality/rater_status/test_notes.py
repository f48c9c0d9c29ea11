"""Notes about raters beside their status: confirmed alerts, and why a low kappa is OK."""

from __future__ import annotations

import csv
import html
import io
import re
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from metrics.jobs.question_updates import update_question
from metrics.models import Diagnosis
from projects.models import Question, Rater
from quality.alerts import services
from quality.alerts.chart_annotations import list_chart_annotations
from quality.models import Alert
from quality.rater_status import recomputation as rater_recomputation
from quality.rater_status.rater_list import RaterFilter, RaterList, RaterListEntry
from tests.cast import rate_many

pytestmark = pytest.mark.django_db


def rate_with_otto(question: Question, *, p_guess: float, n_items: int = 150) -> None:
    """Record ratings by five raters on a skewed scale; "otto" guesses this share of his answers."""
    labels = list(question.categories.values_list("label", flat=True).order_by("position"))
    rng = np.random.default_rng(7)
    ratings = []
    for item in range(n_items):
        truth = int(rng.choice(4, p=(0.55, 0.2, 0.15, 0.1)))
        for rater in ("ann", "ben", "cleo", "dan", "otto"):
            code = truth + int(rng.choice((-1, 0, 1), p=(0.1, 0.8, 0.1)))
            if rater == "otto" and rng.random() < p_guess:
                code = int(rng.integers(4))
            ratings.append((f"i{item}", rater, labels[min(max(code, 0), 3)]))
    rate_many(question, ratings)
    update_question(question.pk)
    rater_recomputation.recompute_question(question.pk, at_once=True)


def get_entries(question: Question) -> dict[str, RaterListEntry]:
    return {entry.key: entry for entry in RaterList(question).select(RaterFilter())}


def list_codes(entry: RaterListEntry) -> list[str]:
    return [reason.code.value for reason in entry.reasons]


def get_notes(client: Any, question: Question, key: str) -> dict[str, str]:
    """Return the note about a rater of each surface; of pages "in text" if they show that of the API."""
    base, api = f"/projects/{question.project_id}/", f"/api/v1/projects/{question.project_id}/"
    rows = client.get(f"{api}raters/status/").json()["results"]
    note = next(row["note"] for row in rows if row["rater"] == key)
    lines = csv.DictReader(io.StringIO(client.get(f"{base}raters.csv").text))
    in_file = next(line["note"] for line in lines if line["rater"] == key)
    pages = {"list": "raters/", "rater page": f"raters/{key}/", "overview": ""}
    notes = {
        name: note if html.escape(note) in client.get(base + path).text else "other"
        for name, path in pages.items()
    }
    return {"API": note, "file": in_file, **notes}


def get_badge(page: str, key: str) -> tuple[str, bool]:
    """Return the status of a rater on a page, and whether its badge is green."""
    badge_match = re.search(
        rf">\s*{key}\s*<.*?<span class=\"(badge[^\"]*|muted)\">(OK|Confirmed)</span>",
        page,
        re.DOTALL,
    )
    assert badge_match is not None
    return badge_match[2], "badge--good" in badge_match[1]


def test_guesser_agrees_less_and_is_not_mainly_harsh(
    question: Question, make_alert: Any, client_for: Any, lead: User
) -> None:
    """Regression: without an alert, right after an import or once it was resolved, bias came first."""
    rate_with_otto(question, p_guess=1.0)
    assert list_codes(get_entries(question)["otto"]) == ["low_agreement", "harsh"]
    page = client_for(lead).get(f"/projects/{question.project_id}/raters/otto/").text
    assert page.index("Agrees less than the others:") < page.index("higher than the others.")
    overview = client_for(lead).get(f"/projects/{question.project_id}/").text
    assert "Check otto" in overview and "agrees less than the others" in overview
    Diagnosis.objects.all().delete()  # not computed yet
    assert list_codes(get_entries(question)["otto"]) == ["low_agreement", "harsh"]
    otto = Rater.objects.get(key="otto")
    alert = make_alert(question, otto, kind="rater_apart", measure="agreement", size=0.0)
    assert list_codes(get_entries(question)["otto"]) == ["low_agreement", "harsh"]
    services.change_alert_state(
        alert=alert, state="resolved", cause="real", reason="trained", by=lead
    )
    entry = get_entries(question)["otto"]
    assert list_codes(entry) == ["low_agreement", "harsh"]
    entries_of_others = [entry for key, entry in get_entries(question).items() if key != "otto"]
    assert [list_codes(entry) for entry in entries_of_others] == [[]] * 4


def test_confirmed_drift_stays_visible_and_a_dismissed_one_does_not(
    question: Question, make_alert: Any, client_for: Any, lead: User
) -> None:
    """Regression: a confirmed drift became "OK", with a sentence that peers explain the bias."""
    rate_with_otto(question, p_guess=0.0)
    otto = Rater.objects.get(key="otto")
    alert = make_alert(question, otto)
    assert list_chart_annotations(question, None) == [("2026-08-17", "Alert: otto")]
    step = {"alert": alert, "state": "resolved", "reason": "trained", "by": lead}
    services.change_alert_state(**step, cause="real")
    note = (
        f"Alert confirmed on {timezone.localdate()}: has rated lower since 2026-08-17, by about 0.36 "
        "categories, adjusted for the others."
    )
    client = client_for(lead)
    assert set(get_notes(client, question, "otto").values()) == {note}
    assert get_entries(question)["otto"].status == "ok"
    base = f"/projects/{question.project_id}/"
    for path in ("raters/", "raters/otto/", ""):
        assert get_badge(client.get(base + path).text, "otto") == ("Confirmed", False), path
    page = client.get(f"/projects/{question.project_id}/raters/otto/").text
    assert "adjusted bias" not in page
    assert list_chart_annotations(question, None) == [("2026-08-17", "Alert: otto")]
    assert list_chart_annotations(question, otto) == [("2026-08-17", "Alert")]
    # Ratings that no longer support it, or a lead who dismisses it, end both.
    Alert.objects.update(supported=False)
    assert get_entries(question)["otto"].note is None
    assert list_chart_annotations(question, None) == []
    Alert.objects.update(supported=True)
    services.change_alert_state(alert=alert, state="open", by=lead)
    services.change_alert_state(**step, cause="not_rater")
    assert get_badge(client.get(f"{base}raters/").text, "otto") == ("OK", True)
    assert set(get_notes(client, question, "otto").values()) == {""}
    assert list_chart_annotations(question, None) == []


def test_another_alert_of_the_kind_replaces_the_note(
    question: Question, make_alert: Any, lead: User
) -> None:
    rate_with_otto(question, p_guess=0.0)
    otto = Rater.objects.get(key="otto")
    alert = make_alert(question, otto, kind="rater_apart", measure="agreement", size=0.2)
    services.change_alert_state(
        alert=alert, state="resolved", cause="real", reason="trained", by=lead
    )
    assert get_entries(question)["otto"].note is not None
    make_alert(question, otto, kind="rater_fast", measure="pace")
    assert get_entries(question)["otto"].note is not None, "it says something else"
    make_alert(
        question, otto, kind="rater_apart", measure="agreement", detected_on="2026-09-30", size=0.2
    )
    assert get_entries(question)["otto"].note is None


def test_low_kappa_without_a_reason_is_explained(
    question: Question, client_for: Any, lead: User
) -> None:
    """Regression: the rater with the lowest kappa of a team was "OK" without a word."""
    rate_with_otto(question, p_guess=0.25)
    row = Diagnosis.objects.get(question=question)
    otto = Rater.objects.get(key="otto")
    client = client_for(lead)

    def store_difference(*figures: float) -> None:
        raters = [[otto.pk, figures[0], 150, *figures[1:]]]
        row.findings = [{"name": "other_raters", "figures": {"raters": raters}}]
        row.save()

    def list_notes() -> set[str]:
        return set(get_notes(client, question, "otto").values())

    store_difference(-0.061, -0.13, 0.008)
    entry = get_entries(question)["otto"]
    assert (entry.status, entry.reasons) == ("ok", [])
    note = "Below the expected range. On the same items, kappa differs from the others’ by "
    assert list_notes() == {f"{note}-0.06 [-0.13, +0.01]."}
    assert {other.note for key, other in get_entries(question).items() if key != "otto"} == {None}
    # Regression: a difference whose interval excludes 0 was called "no clear difference".
    store_difference(-0.107, -0.158, -0.052)
    assert list_notes() == {f"{note}-0.11 [-0.16, -0.05]. Not enough to flag."}
    store_difference(0.061, 0.01, 0.112)
    assert list_notes() == {f"{note}+0.06 [+0.01, +0.11]."}
    # Without such a test or its interval, nothing is said about the same items.
    unclear = {"Below the expected range."}
    store_difference(-0.061)
    assert list_notes() == unclear
    Diagnosis.objects.filter(pk=row.pk).update(findings=[])
    assert list_notes() == unclear
