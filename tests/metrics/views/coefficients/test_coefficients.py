"""Every coefficient of a question on one page, by API and by command: as the library computes it."""

from __future__ import annotations

from typing import Any

import pytest

from metrics.agreement import report
from metrics.filtered import filtered_jobs
from metrics.jobs.question_updates import update_question
from projects.models import Question, Rater

pytestmark = pytest.mark.django_db
LABELS = ("none", "minor", "major", "critical")
CODES = [
    [0, 0, 1], [1, 1, 1], [2, 1, 2], [3, 3, 2], [0, 1, 0], [2, 2, 3], [1, 0, -1], [3, -1, -1],
]  # fmt: skip


@pytest.fixture
def rated(question: Any, rate: Any) -> Any:
    for item, row in enumerate(CODES):
        for rater, code in zip("abc", row, strict=True):
            if code >= 0:
                rate(question, f"i{item}", rater, LABELS[code])
    update_question(question.pk)
    return question


@pytest.fixture
def opened(rated: Any, lead: Any, client_for: Any) -> Any:
    """The page, once a worker has been there: ``opened("?kind=human")``."""
    client = client_for(lead)

    def get(query: str = "") -> Any:
        address = f"/projects/{rated.project_id}/coefficients/{query}"
        first = client.get(address)
        assert "being computed" in first.content.decode()
        filtered_jobs.FILTERED_RESULT_JOB.sweep()
        answer = client.get(address)
        assert answer.status_code == 200
        return answer

    return get


def told(page: Any) -> dict[str, Any]:
    return {row.name: row for row in page.context["listed"]}


def test_an_ordinal_question_has_all_that_say_something(opened: Any) -> None:
    page = opened()
    found, expected = told(page), report(CODES, 4, values=[0, 1, 2, 3])
    names = (
        "percent_agreement", "fleiss_kappa", "fleiss_kappa_quadratic", "fleiss_kappa_gwet_linear",
        "conger_kappa", "conger_kappa_quadratic", "gwet_ac1", "gwet_ac2_linear",
        "brennan_prediger", "krippendorff_alpha_ordinal", "kendall_w",
    )  # fmt: skip
    for name in names:
        assert found[name].reading["value"] == pytest.approx(expected[name], abs=1e-12), name
    low = found["conger_kappa"].reading["low"]
    assert low == pytest.approx(expected["conger_kappa.ci_low"], abs=1e-12)
    light = found["mean_pairwise_kappa_quadratic"].reading["value"]
    assert light == pytest.approx(expected["light_kappa_quadratic"], abs=1e-12)
    assert "icc2" not in found
    assert not page.context["iccs"]


def test_numbers_have_agreement_beside_consistency_with_their_tests(opened: Any) -> None:
    Question.objects.update(scale="interval")
    page = opened()
    expected = report(CODES, 4, values=[0, 1, 2, 3])
    rows = {name: (one, mean) for name, one, mean in page.context["iccs"]}
    assert list(rows) == ["icc1", "icc2", "icc3"]
    for name, (one, mean) in rows.items():
        assert one["value"] == pytest.approx(expected[name])
        assert (one["F"], one["p"]) == pytest.approx((expected[f"{name}.F"], expected[f"{name}.p"]))
        assert mean["low"] == pytest.approx(expected[f"{name}k.ci_low"])
    assert rows["icc2"][0]["n_items"] == 6


def test_rules_about_missing_ratings_stand_side_by_side(opened: Any) -> None:
    Question.objects.update(scale="nominal")
    page = opened()
    rules = {rule["name"]: rule for rule in page.context["policies"]}
    expected = report(CODES, 4)
    complete = report([row for row in CODES if -1 not in row], 4)
    values = {name: rule["reading"]["value"] for name, rule in rules.items()}
    assert values == pytest.approx(
        {
            "available": expected["fleiss_kappa"],
            "by_item": expected["fleiss_kappa_gwet"],
            "complete": complete["fleiss_kappa"],
            "paired": expected["krippendorff_alpha_nominal"],
        }
    )
    out = {n: (r["left_out_items"], r["left_out_ratings"]) for n, r in rules.items()}
    assert out == {"available": (0, 0), "by_item": (0, 0), "complete": (2, 3), "paired": (1, 1)}
    assert rules["available"]["single_items"] == 1


def test_words_made_for_another_coefficient_say_so(opened: Any) -> None:
    found = told(opened())
    assert (found["fleiss_kappa"].loose, found["gwet_ac1"].loose) == (False, True)
    assert found["gwet_ac1"].band
    assert not found["percent_agreement"].band
    assert not found["kendall_w"].band


def test_models_are_left_out_and_a_filter_narrows(opened: Any, rated: Any, rate: Any) -> None:
    Rater.objects.create(project=rated.project, key="gpt", kind="model")
    for item in range(8):
        rate(rated, f"i{item}", "gpt", "critical")
    update_question(rated.pk)
    expected = report(CODES, 4)["conger_kappa"]
    page = opened()
    assert told(page)["conger_kappa"].reading["value"] == pytest.approx(expected)
    assert "People’s ratings alone." in page.content.decode()
    alone = opened("?kind=model")
    assert told(alone)["fleiss_kappa"].reading["reason"] == "no_pairable_items"


def test_two_raters_stand_with_their_own(
    question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    for item, row in enumerate(CODES[:6]):
        for rater, code in zip("ab", row[:2], strict=True):
            rate(question, f"i{item}", rater, LABELS[code])
    update_question(question.pk)
    client, address = client_for(lead), f"/projects/{question.project_id}/coefficients/"
    client.get(address)
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    details = client.get(address).context["details"]
    expected = report([row[:2] for row in CODES[:6]], 4, values=[0, 1, 2, 3])
    assert details.others["scott_pi"]["value"] == pytest.approx(expected["scott_pi"])
    tests = {test.name: test.p for test in details.tests}
    assert tests["bowker"] == pytest.approx(expected["bowker.p"])
    assert [label for label, _value in details.categories] == list(LABELS)


def test_agreement_on_the_numbers_of_the_categories(opened: Any) -> None:
    Question.objects.update(scale="interval")
    page = opened("?scores=values")
    expected = report(CODES, 4, values=[0, 1, 2, 3])
    found = page.context["scored"]["coefficients"]
    assert found["icc2"]["value"] == pytest.approx(expected["icc2"])
    assert found["fleiss_kappa_custom"]["value"] == pytest.approx(
        expected["fleiss_kappa_quadratic"]
    )


def test_agreement_on_a_gold_score_of_the_items(rated: Any, opened: Any) -> None:
    for item in rated.project.items.all():
        number = int(item.key[1:])
        item.attributes = {"depth": [4, "8", "not known", 20, 4, 9, 6, None][number]}
        item.save()
    rated.project.__class__.objects.filter(pk=rated.project_id).increment_catalogue_version()
    page = opened("?scores=item&attribute=depth")
    scores = page.context["scored"]["scores"]
    # the ratings of each category, each with the score of its item, where it has a number
    assert scores == pytest.approx(
        [(4 + 4 + 4 + 4 + 6) / 5, (4 + 8 * 3 + 4 + 6) / 6, (20 + 9 + 9) / 3, (20 + 20 + 9) / 3]
    )
    assert "weights of the scores" in page.content.decode()
    none = opened("?scores=item&attribute=colour")
    assert none.context["scored"]["reason"] == "no_scores"


@pytest.mark.parametrize("query", ["scores=ranks", "scores=item&attribute=7"])
def test_scores_of_nothing_are_refused(query: str, rated: Any, lead: Any, client_for: Any) -> None:
    answer = client_for(lead).get(f"/projects/{rated.project_id}/coefficients/?{query}")
    assert answer.status_code == 400


def test_the_dashboard_leads_there(rated: Any, lead: Any, client_for: Any) -> None:
    text = client_for(lead).get(f"/projects/{rated.project_id}/").content.decode()
    assert f'href="/projects/{rated.project_id}/coefficients/?' in text
