"""The worked examples open with the right numbers, whatever a text prints of them."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import call_command

from metrics.agreement import report
from metrics.example import loader
from metrics.example.worked_examples import WORKED_EXAMPLES
from metrics.filtered import filtered_jobs
from metrics.models import Diagnosis, Reading
from projects.models import Project

# Name -> what is read first, its value, and whether it has an interval.
RIGHT = {
    "two raters, five items": ("cohen_kappa", 0.6153846153846154, True),
    "weighted kappa, five items": ("cohen_kappa_quadratic", 9 / 14, True),
    "ten labels, from code": ("cohen_kappa", 0.4, True),
    "ten labels, a case study": ("cohen_kappa", 0.4, True),
    "four grades, own weights": ("cohen_kappa_custom", 0.6353276353276353, True),
    "four grades, scored by gold": ("icc2", 0.7238666737741496, True),
    "ten critics, one painting": ("fleiss_kappa", -1 / 9, False),
    "two nurses, 5 mmHg apart": ("icc2", 0.9782822725430012, True),
}


@pytest.mark.django_db
def test_each_opens_with_the_right_number_and_says_why(
    lead: Any, client_for: Any, api_for: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("load_example", "--owner", "lead", "--worked")
    assert capsys.readouterr().out.count("Loaded 'Worked: ") == len(WORKED_EXAMPLES) == len(RIGHT)
    assert loader.load_examples(owner=lead, worked=True) == []
    client = client_for(lead)
    for name, (coefficient, value, interval) in RIGHT.items():
        project = Project.objects.get(name=f"Worked: {name}")
        page = client.get(f"/projects/{project.pk}/")
        first = page.context["headline"]
        assert page.context["headline_name"] == coefficient, name
        assert first["value"] == pytest.approx(value), name
        assert (first["low"] is not None) == interval, name
        assert str(page.context["why"]) in page.content.decode()
    nurses = Reading.objects.get(question__project__name__endswith="5 mmHg apart", span="all")
    assert nurses.headline["values"]["icc3"]["value"] == pytest.approx(1)
    assert (
        "their means differ by up to 5.0"
        in client.get(f"/projects/{nurses.question.project_id}/").text
    )
    painting = Diagnosis.objects.get(question__project__name__endswith="one painting")
    assert [one["name"] for one in painting.findings] == ["few_items"]  # nothing follows of pairs
    assert "One nurse always reads 5 more." in page.content.decode()
    # On scores of gold kappa is Lin's concordance and not the intraclass correlation.
    scored = Project.objects.get(name__endswith="scored by gold")
    address = f"/api/v1/projects/{scored.pk}/agreement/coefficients/?scores="
    for scores in ("values", "item.severity"):
        api_for(lead).get(address + scores)
        filtered_jobs.FILTERED_RESULT_JOB.sweep()
        found = api_for(lead).get(address + scores).json()["scored"]
        assert found["scores"] == pytest.approx([5, 6, 10, 25], rel=1e-3)
        values = {name: one["value"] for name, one in found["coefficients"].items()}
        assert values["cohen_kappa_custom"] == pytest.approx(values["lin_ccc"])
        assert (round(values["lin_ccc"], 4), round(values["icc2"], 4)) == (0.7213, 0.7239)


def test_the_case_study_was_counted_wrongly_where_it_is_printed() -> None:
    study = next(one for one in WORKED_EXAMPLES if "case study" in one.name)
    found = report(study.codes, 2)
    assert found["cohen_kappa"] == pytest.approx(0.4)
    assert found["percent_agreement"] == pytest.approx(0.7)


@pytest.mark.django_db
def test_the_button_makes_them(lead: Any, client_for: Any, settings: Any) -> None:
    settings.MAY_CREATE_PROJECTS = "everybody"
    answer = client_for(lead).post("/example/", {"worked": ""})
    assert answer.status_code == 302
    assert Project.objects.filter(name__startswith="Worked: ").count() == len(WORKED_EXAMPLES)
