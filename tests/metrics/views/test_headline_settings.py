"""The headline: default coefficient, its reason and bands, and another one that a lead selects."""

from __future__ import annotations

from typing import Any

import pytest

from metrics import tasks
from metrics.jobs.question_updates import update_question
from metrics.models import Result
from projects.models import Project, Question, Rater
from tests import cast
from tests.cast import Cast

pytestmark = pytest.mark.django_db
LABELS = ("none", "minor", "major", "critical")


def create_ratings(setup: Cast) -> None:
    for item in range(40):
        for index, rater in enumerate("abc"):
            cast.rate(setup.question, f"i{item}", rater, LABELS[(item + (item % 5 == index)) % 4])
    update_question(setup.question.pk)


@pytest.fixture(scope="module")
def module_cast(cast_factory: Any) -> Cast:
    return cast_factory(create_ratings)


@pytest.fixture
def rated_question(question: Any) -> Any:
    return question


def get_statistics(client: Any, project: Any, query: str = "") -> str:
    response = client.get(f"/projects/{project.pk}/statistics/{query}")
    assert response.status_code == 200
    text: str = response.content.decode()
    return text


def test_ordinal_question_uses_quadratic_weights(
    project: Any, rated_question: Any, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    page = client.get(f"/projects/{project.pk}/")
    estimate = Result.objects.get(question=rated_question, period_unit="all").headline["value"]
    assert page.context["headline_name"] == "fleiss_kappa_quadratic"
    assert page.context["headline"]["value"] == estimate["value"]
    statistics = client.get(f"/projects/{project.pk}/statistics/").text
    assert "near misses get partial credit" in statistics
    # the trend, the pairs and the raters use the same weights
    assert page.context["selection"].coefficient == "fleiss_kappa_quadratic"
    assert page.context["selection"].weights == "quadratic"
    project_row = client.get("/").context["rows"][0]
    assert (project_row.name, project_row.headline) == ("fleiss_kappa_quadratic", estimate)


def test_lead_selects_another_headline_with_note(
    project: Any, rated_question: Any, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    address = f"/projects/{project.pk}/coefficients/headline/?question={rated_question.key}"
    form = {"headline": "gwet_ac1", "note": "One answer is rare.", "band_scheme": "altman"}
    response = client.post(address, form | {"target_agreement": "0.75"})
    assert response.status_code == 302
    tasks.sweep_all()
    text = get_statistics(client, project)
    assert "Chosen for this question: One answer is rare." in text
    assert "Altman 1991" in text
    assert "the target, 0.75" in text
    assert client.get("/").context["rows"][0].name == "gwet_ac1"
    client.post(address, {"headline": "", "note": "", "band_scheme": "altman"})
    tasks.sweep_all()
    assert "near misses get partial credit" in get_statistics(client, project)


def test_bands_of_another_coefficient_are_marked_everywhere(
    project: Any, rated_question: Any, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    assert "labels were defined for another coefficient" not in get_statistics(client, project)
    assert "labels were defined for another coefficient" not in client.get("/").content.decode()
    fields = {"headline": "gwet_ac1", "headline_note": "One answer is rare."}
    Question.objects.update(scale_version=2, **fields)
    tasks.sweep_all()
    assert "labels were defined for another coefficient" in get_statistics(client, project)
    assert "labels were defined for another coefficient" in client.get("/").content.decode()


@pytest.mark.parametrize(
    "form",
    [
        {"headline": "gwet_ac1", "note": " ", "band_scheme": "altman"},
        {"headline": "icc2", "note": "no numbers here", "band_scheme": "altman"},
        {"headline": "", "note": "", "band_scheme": "mine"},
        {"headline": "", "note": "", "band_scheme": "altman", "target_agreement": "1.5"},
    ],
)
def test_invalid_headline_changes_nothing(
    form: dict[str, str], project: Any, rated_question: Any, lead: Any, client_for: Any
) -> None:
    response = client_for(lead).post(f"/projects/{project.pk}/coefficients/headline/", form)
    assert response.status_code == 400
    assert Question.objects.get(pk=rated_question.pk).headline == ""
    stored_project = Project.objects.get(pk=project.pk)
    assert (stored_project.band_scheme, stored_project.target_agreement) == ("landis_koch", None)


def test_viewer_may_not_select_headline(
    project: Any, rated_question: Any, viewer: Any, client_for: Any
) -> None:
    assert (
        client_for(viewer).get(f"/projects/{project.pk}/coefficients/headline/").status_code == 403
    )


def test_people_and_models_are_shown_separately(
    project: Any, rated_question: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    before = client.get(f"/projects/{project.pk}/").context["headline"]["value"]
    Rater.objects.create(project=project, key="gpt", kind="model")
    for item in range(40):
        rate(rated_question, f"i{item}", "gpt", "critical")
    update_question(rated_question.pk)
    page = client.get(f"/projects/{project.pk}/statistics/")
    assert page.context["headline"]["value"] == pytest.approx(before, abs=1e-12)
    assert "People with models" in page.content.decode()
    lines = {str(line.label): line.estimate for line in page.context["groups"]}
    assert lines["People with people"]["value"] == pytest.approx(before, abs=1e-12)
    assert lines["People with models"]["value"] == pytest.approx(0, abs=1e-9)
    # the model causes no findings
    assert not any("gpt" in insight.text for insight in page.context["insights"])


@pytest.mark.fresh
def test_project_list_counts_all_ratings(project: Any, question: Any, rate: Any, lead: Any,
                                     client_for: Any) -> None:  # fmt: skip
    """It includes ratings that cannot be compared yet, and does not say "No ratings yet"."""
    for item in range(5):
        rate(question, f"i{item}", "a", "minor")
    update_question(question.pk)
    row = next(row for row in client_for(lead).get("/").context["rows"] if row.project == project)
    assert row.n_ratings == 5
    assert "No ratings yet." not in row.attention


def test_nominal_scale_offers_no_rank_weights(
    project: Any, rated_question: Any, lead: Any, client_for: Any
) -> None:
    Question.objects.update(scale="nominal")
    text = get_statistics(client_for(lead), project)
    assert "weights=linear" not in text
    assert "weights=quadratic" not in text
