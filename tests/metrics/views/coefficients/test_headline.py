"""What a page opens with: the coefficient that the question calls for, why, in whose words, and
what a lead chooses instead."""

from __future__ import annotations

from typing import Any

import pytest

from metrics import tasks
from metrics.jobs.question_updates import update_question
from metrics.models import Reading
from projects.models import Project, Question, Rater
from tests import cast
from tests.cast import Cast

pytestmark = pytest.mark.django_db
LABELS = ("none", "minor", "major", "critical")


def fill(made: Cast) -> None:
    for item in range(40):
        for place, rater in enumerate("abc"):
            cast.rate(made.question, f"i{item}", rater, LABELS[(item + (item % 5 == place)) % 4])
    update_question(made.question.pk)


@pytest.fixture(scope="module")
def made_once(stage: Any) -> Cast:
    return stage(fill)


@pytest.fixture
def rated(question: Any) -> Any:
    return question


def dashboard(client: Any, project: Any, query: str = "") -> str:
    answer = client.get(f"/projects/{project.pk}/{query}")
    assert answer.status_code == 200
    text: str = answer.content.decode()
    return text


def test_an_ordinal_question_opens_with_quadratic_weights_and_says_why(
    project: Any, rated: Any, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    page = client.get(f"/projects/{project.pk}/")
    first = Reading.objects.get(question=rated, span="all").headline["value"]
    assert page.context["headline_name"] == "fleiss_kappa_quadratic"
    assert page.context["headline"]["value"] == first["value"]
    assert "near misses count as partly agreed" in page.content.decode()
    # the trend, the pairs and the raters go with it
    assert page.context["chosen"].coefficient == "fleiss_kappa_quadratic"
    assert page.context["chosen"].weights == "quadratic"
    listed = client.get("/").context["rows"][0]
    assert (listed.name, listed.headline) == ("fleiss_kappa_quadratic", first)


def test_a_lead_chooses_another_with_a_note(
    project: Any, rated: Any, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    address = f"/projects/{project.pk}/first/?question={rated.key}"
    sent = {"headline": "gwet_ac1", "note": "One answer is rare.", "band_scheme": "altman"}
    answer = client.post(address, sent | {"bar": "0.75"})
    assert answer.status_code == 302
    tasks.sweep_all()
    text = dashboard(client, project)
    assert "Chosen for this question: One answer is rare." in text
    assert "Altman 1991" in text
    assert "bar of 0.75" in text
    assert client.get("/").context["rows"][0].name == "gwet_ac1"
    client.post(address, {"headline": "", "note": "", "band_scheme": "altman"})
    tasks.sweep_all()
    assert "near misses count as partly agreed" in dashboard(client, project)


def test_words_made_for_another_coefficient_say_so_everywhere(
    project: Any, rated: Any, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    assert "made for another coefficient" not in dashboard(client, project)
    assert "made for another coefficient" not in client.get("/").content.decode()
    chosen = {"headline": "gwet_ac1", "headline_note": "One answer is rare."}
    Question.objects.update(scale_version=2, **chosen)
    tasks.sweep_all()
    assert "made for another coefficient" in dashboard(client, project)
    assert "made for another coefficient" in client.get("/").content.decode()


@pytest.mark.parametrize(
    "sent",
    [
        {"headline": "gwet_ac1", "note": " ", "band_scheme": "altman"},
        {"headline": "icc2", "note": "no numbers here", "band_scheme": "altman"},
        {"headline": "", "note": "", "band_scheme": "mine"},
        {"headline": "", "note": "", "band_scheme": "altman", "bar": "1.5"},
    ],
)
def test_what_cannot_be_chosen_changes_nothing(
    sent: dict[str, str], project: Any, rated: Any, lead: Any, client_for: Any
) -> None:
    answer = client_for(lead).post(f"/projects/{project.pk}/first/", sent)
    assert answer.status_code == 400
    assert Question.objects.get(pk=rated.pk).headline == ""
    stands = Project.objects.get(pk=project.pk)
    assert (stands.band_scheme, stands.bar) == ("landis_koch", None)


def test_viewers_may_not_choose(project: Any, rated: Any, viewer: Any, client_for: Any) -> None:
    assert client_for(viewer).get(f"/projects/{project.pk}/first/").status_code == 403


def test_people_and_models_stand_on_a_panel(
    project: Any, rated: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    before = client.get(f"/projects/{project.pk}/").context["headline"]["value"]
    Rater.objects.create(project=project, key="gpt", kind="model")
    for item in range(40):
        rate(rated, f"i{item}", "gpt", "critical")
    update_question(rated.pk)
    page = client.get(f"/projects/{project.pk}/")
    assert page.context["headline"]["value"] == before
    assert "People with models" in page.content.decode()
    lines = {str(line.words): line.reading for line in page.context["groups"]}
    assert lines["People with people"]["value"] == before
    assert lines["People with models"]["value"] == pytest.approx(0, abs=1e-9)
    # nobody needs attention because of the model
    assert not any("gpt" in text for text in page.context["findings"])


@pytest.mark.fresh
def test_the_list_counts_all_ratings(project: Any, question: Any, rate: Any, lead: Any,
                                     client_for: Any) -> None:  # fmt: skip
    """Also those that nothing can be compared with yet: "No ratings yet" stood beside them."""
    for item in range(5):
        rate(question, f"i{item}", "a", "minor")
    update_question(question.pk)
    row = next(row for row in client_for(lead).get("/").context["rows"] if row.project == project)
    assert row.n_ratings == 5
    assert "No ratings yet." not in row.attention


def test_nominal_scales_are_offered_no_weights_by_rank(
    project: Any, rated: Any, lead: Any, client_for: Any
) -> None:
    Question.objects.update(scale="nominal")
    text = dashboard(client_for(lead), project)
    assert "weights=linear" not in text
    assert "weights=quadratic" not in text
