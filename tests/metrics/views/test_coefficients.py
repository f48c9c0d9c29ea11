"""All coefficients of a question by page, API and command match those of the library."""

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
def rated_question(question: Any, rate: Any) -> Any:
    for item, row in enumerate(CODES):
        for rater, code in zip("abc", row, strict=True):
            if code >= 0:
                rate(question, f"i{item}", rater, LABELS[code])
    update_question(question.pk)
    return question


@pytest.fixture
def open_page(rated_question: Any, lead: Any, client_for: Any) -> Any:
    """Return a function that opens the page after a worker computed it:
    ``open_page("?kind=human")``."""
    client = client_for(lead)

    def get(query: str = "") -> Any:
        address = f"/projects/{rated_question.project_id}/coefficients/{query}"
        first = client.get(address)
        assert "Computing …" in first.content.decode()
        filtered_jobs.FILTERED_RESULT_JOB.sweep()
        response = client.get(address)
        assert response.status_code == 200
        return response

    return get


def get_rows(page: Any) -> dict[str, Any]:
    return {row.name: row for row in page.context["listed"]}


def test_ordinal_question_shows_applicable_coefficients(open_page: Any) -> None:
    page = open_page()
    row_by_name, expected = get_rows(page), report(CODES, 4, values=[0, 1, 2, 3])
    names = (
        "percent_agreement", "fleiss_kappa", "fleiss_kappa_quadratic", "fleiss_kappa_gwet_linear",
        "conger_kappa", "conger_kappa_quadratic", "gwet_ac1", "gwet_ac2_linear",
        "brennan_prediger", "krippendorff_alpha_ordinal", "kendall_w",
    )  # fmt: skip
    for name in names:
        assert row_by_name[name].estimate["value"] == pytest.approx(expected[name], abs=1e-12), name
    low = row_by_name["conger_kappa"].estimate["low"]
    assert low == pytest.approx(expected["conger_kappa.low"], abs=1e-12)
    light_kappa = row_by_name["mean_pairwise_kappa_quadratic"].estimate["value"]
    assert light_kappa == pytest.approx(expected["light_kappa_quadratic"], abs=1e-12)
    assert "icc2" not in row_by_name
    assert not page.context["iccs"]
    rows = get_rows(page)
    assert rows["percent_agreement"].expected is None  # it is not corrected for chance
    assert rows["fleiss_kappa"].expected == rows["fleiss_kappa"].estimate["expected"] > 0


def test_interval_question_shows_iccs_with_tests(open_page: Any) -> None:
    Question.objects.update(scale="interval")
    page = open_page()
    expected = report(CODES, 4, values=[0, 1, 2, 3])
    rows = {name: (single, average) for name, single, average in page.context["iccs"]}
    assert list(rows) == ["icc1", "icc2", "icc3"]
    for name, (single, average) in rows.items():
        assert single["value"] == pytest.approx(expected[name])
        assert (single["F"], single["p"]) == pytest.approx(
            (expected[f"{name}.F"], expected[f"{name}.p"])
        )
        assert average["low"] == pytest.approx(expected[f"{name}k.ci_low"])
    assert rows["icc2"][0]["n_items"] == 6


def test_incomplete_ratings_have_correlations_from_variance_components(
    open_page: Any, rated_question: Any, lead: Any, api_for: Any, client_for: Any
) -> None:
    """On the page and in the API, on numbers alone; with two raters of one item each a reason."""
    Question.objects.update(scale="interval")
    page = open_page()
    expected = report(CODES, 4, values=[0, 1, 2, 3])
    rows = dict(page.context["incomplete"])
    names = ("icc2", "icc3", "icc2k", "iccqk")
    assert list(rows) == ["ICC(A,1)", "ICC(C,1)", "ICC(A,k)", "ICC(Q,k)"]
    address = f"/api/v1/projects/{rated_question.project_id}/agreement/coefficients/"
    coefficients = api_for(lead).get(address).json()["coefficients"]
    for name, estimate in zip(names, rows.values(), strict=True):
        assert estimate["value"] == pytest.approx(expected[f"{name}_incomplete"])
        assert estimate["low"] == pytest.approx(expected[f"{name}_incomplete.ci_low"])
        assert coefficients[f"{name}_incomplete"] == estimate
    assert "Intraclass correlations of all ratings" in page.content.decode()


def test_complete_ratings_have_the_classical_forms_alone(
    question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    Question.objects.update(scale="interval")
    for item in range(8):
        for rater in "ab":
            rate(question, f"i{item}", rater, LABELS[(item + (rater == "b") * (item % 2)) % 4])
    update_question(question.pk)
    address = f"/projects/{question.project_id}/coefficients/"
    client_for(lead).get(address)
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    page = client_for(lead).get(address)
    assert page.context["iccs"]
    assert page.context["incomplete"] == []


def test_policies_for_missing_ratings_are_compared(open_page: Any) -> None:
    Question.objects.update(scale="nominal")
    page = open_page()
    rules = {rule.name: rule for rule in page.context["policies"]}
    expected = report(CODES, 4)
    complete = report([row for row in CODES if -1 not in row], 4)
    values = {name: rule.estimate["value"] for name, rule in rules.items()}
    assert values == pytest.approx(
        {
            "available": expected["fleiss_kappa"],
            "by_item": expected["fleiss_kappa_gwet"],
            "complete": complete["fleiss_kappa"],
            "paired": expected["krippendorff_alpha_nominal"],
        }
    )
    left_out_counts = {n: (r.left_out_items, r.left_out_ratings) for n, r in rules.items()}
    assert left_out_counts == {
        "available": (0, 0),
        "by_item": (0, 0),
        "complete": (2, 3),
        "paired": (1, 1),
    }
    assert rules["available"].single_items == 1


def test_bands_of_another_coefficient_are_marked(open_page: Any) -> None:
    row_by_name = get_rows(open_page())
    assert (
        row_by_name["fleiss_kappa"].has_band_mismatch,
        row_by_name["gwet_ac1"].has_band_mismatch,
    ) == (False, True)
    assert row_by_name["gwet_ac1"].band
    assert not row_by_name["percent_agreement"].band
    assert not row_by_name["kendall_w"].band


def test_models_are_excluded_and_filter_applies(
    open_page: Any, rated_question: Any, rate: Any
) -> None:
    Rater.objects.create(project=rated_question.project, key="gpt", kind="model")
    for item in range(8):
        rate(rated_question, f"i{item}", "gpt", "critical")
    update_question(rated_question.pk)
    expected = report(CODES, 4)["conger_kappa"]
    page = open_page()
    assert get_rows(page)["conger_kappa"].estimate["value"] == pytest.approx(expected)
    assert "People only." in page.content.decode()
    models_page = open_page("?kind=model")
    assert get_rows(models_page)["fleiss_kappa"].estimate["reason"] == "no_pairable_items"


def test_two_raters_have_pair_statistics(
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
    assert details.other_coefficients["scott_pi"]["value"] == pytest.approx(expected["scott_pi"])
    tests = {test.name: test.p for test in details.tests}
    assert tests["bowker"] == pytest.approx(expected["bowker.p"])
    assert [label for label, _value in details.categories] == list(LABELS)


def test_agreement_on_category_values(open_page: Any) -> None:
    Question.objects.update(scale="interval")
    page = open_page("?scores=values")
    expected = report(CODES, 4, values=[0, 1, 2, 3])
    estimates = page.context["scored"]["coefficients"]
    assert estimates["icc2"]["value"] == pytest.approx(expected["icc2"])
    assert estimates["fleiss_kappa_custom"]["value"] == pytest.approx(
        expected["fleiss_kappa_quadratic"]
    )


def test_agreement_on_gold_scores_of_items(rated_question: Any, open_page: Any) -> None:
    for item in rated_question.project.items.all():
        number = int(item.key[1:])
        item.attributes = {"depth": [4, "8", "not known", 20, 4, 9, 6, None][number]}
        item.save()
    rated_question.project.__class__.objects.filter(
        pk=rated_question.project_id
    ).increment_items_and_raters_version()
    page = open_page("?scores=item&attribute=depth")
    scores = page.context["scored"]["scores"]
    # mean score of each category over its ratings whose item has a numeric score
    assert scores == pytest.approx(
        [(4 + 4 + 4 + 4 + 6) / 5, (4 + 8 * 3 + 4 + 6) / 6, (20 + 9 + 9) / 3, (20 + 20 + 9) / 3]
    )
    assert "weights of the scores" in page.content.decode()
    empty_page = open_page("?scores=item&attribute=colour")
    assert empty_page.context["scored"]["reason"] == "no_scores"


@pytest.mark.parametrize("query", ["scores=ranks", "scores=item&attribute=7"])
def test_invalid_scores_are_refused(
    query: str, rated_question: Any, lead: Any, client_for: Any
) -> None:
    response = client_for(lead).get(f"/projects/{rated_question.project_id}/coefficients/?{query}")
    assert response.status_code == 400


def test_dashboard_links_to_the_page(rated_question: Any, lead: Any, client_for: Any) -> None:
    text = (
        client_for(lead).get(f"/projects/{rated_question.project_id}/statistics/").content.decode()
    )
    assert f'href="/projects/{rated_question.project_id}/coefficients/?' in text
