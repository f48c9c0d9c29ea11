"""The worked examples show the correct numbers, even where a published text is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from django.core.management import call_command

from metrics.agreement import report
from metrics.example import example_projects
from metrics.example.worked_examples import WORKED_EXAMPLES
from metrics.filtered import filtered_jobs
from metrics.models import Diagnosis, Result
from projects.models import Project

# Name -> headline coefficient, its value, and whether it has an interval.
EXPECTED_HEADLINES = {
    "two raters, five items": ("cohen_kappa", 0.6153846153846154, True),
    "weighted kappa, five items": ("cohen_kappa_quadratic", 9 / 14, True),
    "ten labels, from code": ("cohen_kappa", 0.4, True),
    "ten labels, a case study": ("cohen_kappa", 0.4, True),
    "four grades, own weights": ("cohen_kappa_custom", 0.6353276353276353, True),
    "four grades, scored by gold": ("icc2", 0.7238666737741496, True),
    "ten critics, one painting": ("fleiss_kappa", -1 / 9, False),
    "two nurses, 5 mmHg apart": ("icc2", 0.9782822725430012, True),
    "200 tweets, labelled at random": ("fleiss_kappa", -0.005511, True),
    "100 X-rays, mostly normal": ("cohen_kappa", (0.85 - 0.78) / 0.22, True),
    "strict and lenient examiners": ("fleiss_kappa", 1 / 3, True),
    "3 of 10 ratings missing": ("fleiss_kappa", 0.756944, True),
    "shares of 40, 35 and 25%": ("fleiss_kappa", (0.76 - 0.345) / 0.655, True),
    "partial credit lowers kappa": ("cohen_kappa_linear", 1 - 0.25 / 0.46875, True),
}


@pytest.mark.django_db
def test_each_example_shows_correct_headline_and_reason(
    lead: Any, client_for: Any, api_for: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("load_example", "--owner", "lead", "--worked")
    assert (
        capsys.readouterr().out.count("Loaded 'Worked: ")
        == len(WORKED_EXAMPLES)
        == len(EXPECTED_HEADLINES)
    )
    assert example_projects.create_missing_examples(owner=lead, worked=True) == []
    client = client_for(lead)
    for name, (coefficient, value, has_interval) in EXPECTED_HEADLINES.items():
        project = Project.objects.get(name=f"Worked: {name}")
        page = client.get(f"/projects/{project.pk}/statistics/")
        headline = page.context["headline"]
        assert page.context["headline_name"] == coefficient, name
        assert headline["value"] == pytest.approx(value, abs=1e-6), name
        assert (headline["low"] is not None) == has_interval, name
        assert str(page.context["why"]) in page.content.decode()
    nurses_result = Result.objects.get(
        question__project__name__endswith="5 mmHg apart", period_unit="all"
    )
    assert nurses_result.headline["values"]["icc3"]["value"] == pytest.approx(1)
    assert (
        "means differ by up to 5.0"
        in client.get(f"/projects/{nurses_result.question.project_id}/statistics/").text
    )
    painting_diagnosis = Diagnosis.objects.get(question__project__name__endswith="one painting")
    assert [entry["name"] for entry in painting_diagnosis.findings] == [
        "few_items"
    ]  # no finding about pairs
    overview = client.get(f"/projects/{nurses_result.question.project_id}/").text
    assert "One nurse always reads 5 more, yet" in overview
    # On gold scores kappa equals Lin's concordance, not the intraclass correlation.
    scored_project = Project.objects.get(name__endswith="scored by gold")
    address = f"/api/v1/projects/{scored_project.pk}/agreement/coefficients/?scores="
    for scores in ("values", "item.severity"):
        api_for(lead).get(address + scores)
        filtered_jobs.FILTERED_RESULT_JOB.sweep()
        scored_answer = api_for(lead).get(address + scores).json()["scored"]
        assert scored_answer["scores"] == pytest.approx([5, 6, 10, 25], rel=1e-3)
        values = {name: entry["value"] for name, entry in scored_answer["coefficients"].items()}
        assert values["cohen_kappa_custom"] == pytest.approx(values["lin_ccc"])
        assert (round(values["lin_ccc"], 4), round(values["icc2"], 4)) == (0.7213, 0.7239)


def test_descriptions_of_examples_state_correct_values() -> None:
    examples = {example.name.removeprefix("Worked: "): example for example in WORKED_EXAMPLES}

    def get_report(name: str) -> dict[str, Any]:
        return report(get_codes(name), len(examples[name].labels))

    def get_codes(name: str) -> np.ndarray:
        rows = examples[name].codes
        return np.array([[-1 if code is None else code for code in row] for row in rows])

    tweets = get_report("200 tweets, labelled at random")
    assert tweets["fleiss_kappa.low"] < 0 < tweets["fleiss_kappa.high"]
    assert get_report("100 X-rays, mostly normal")["gwet_ac1"] == pytest.approx(0.808, abs=5e-4)
    examiners = get_codes("strict and lenient examiners")
    assert examiners.sum(axis=0).tolist() == [75, 50, 25]
    pairwise = [report(examiners[:, pair], 2)["cohen_kappa"] for pair in ([0, 1], [0, 2], [1, 2])]
    assert sum(pairwise) / 3 == pytest.approx(0.4)
    assert set((get_codes("3 of 10 ratings missing") < 0).sum(axis=1).tolist()) == {3}
    assert np.bincount(get_codes("shares of 40, 35 and 25%").ravel()).tolist() == [40, 35, 25]
    grades = get_report("partial credit lowers kappa")
    assert [
        round(grades[name], 2)
        for name in ("fleiss_kappa", "fleiss_kappa_linear", "fleiss_kappa_quadratic")
    ] == [0.62, 0.47, 0.33]  # as Cohen's, because both raters use each grade equally often


def test_published_case_study_has_wrong_count() -> None:
    study = next(example for example in WORKED_EXAMPLES if "case study" in example.name)
    statistics = report(np.array(study.codes), 2)
    assert statistics["cohen_kappa"] == pytest.approx(0.4)
    assert statistics["percent_agreement"] == pytest.approx(0.7)


@pytest.mark.django_db
def test_button_creates_worked_examples(lead: Any, client_for: Any, settings: Any) -> None:
    settings.MAY_CREATE_PROJECTS = "everybody"
    response = client_for(lead).post("/example/", {"worked": ""})
    assert response.status_code == 302
    assert Project.objects.filter(name__startswith="Worked: ").count() == len(WORKED_EXAMPLES)
