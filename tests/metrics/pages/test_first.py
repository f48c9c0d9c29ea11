"""What a page opens with: the coefficient that the question calls for, why, in whose words, and
what a lead chooses instead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import time_machine

from metrics import tasks
from metrics.agreement import report
from metrics.models import Reading
from metrics.work.sweep import bring_up_to_date
from projects.models import Project, Question, Rater
from projects.setup.questions import change_headline

pytestmark = pytest.mark.django_db
LABELS = ("none", "minor", "major", "critical")


@pytest.fixture
def rated(question: Any, rate: Any) -> Any:
    for item in range(40):
        for place, rater in enumerate("abc"):
            label = ("none", "minor", "major", "critical")[(item + (item % 5 == place)) % 4]
            rate(question, f"i{item}", rater, label)
    bring_up_to_date(question.pk)
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
    bring_up_to_date(rated.pk)
    page = client.get(f"/projects/{project.pk}/")
    assert page.context["headline"]["value"] == before
    assert "People with models" in page.content.decode()
    lines = {str(line.words): line.reading for line in page.context["groups"]}
    assert lines["People with people"]["value"] == before
    assert lines["People with models"]["value"] == pytest.approx(0, abs=1e-9)
    # nobody needs attention because of the model
    assert not any("gpt" in text for text in page.context["findings"])


def test_the_list_counts_all_ratings(project: Any, question: Any, rate: Any, lead: Any,
                                     client_for: Any) -> None:  # fmt: skip
    """Also those that nothing can be compared with yet: "No ratings yet" stood beside them."""
    for item in range(5):
        rate(question, f"i{item}", "a", "minor")
    bring_up_to_date(question.pk)
    row = client_for(lead).get("/").context["rows"][0]
    assert row.n_ratings == 5
    assert "No ratings yet." not in row.attention


def test_nominal_scales_are_offered_no_weights_by_rank(
    project: Any, rated: Any, lead: Any, client_for: Any
) -> None:
    Question.objects.update(scale="nominal")
    text = dashboard(client_for(lead), project)
    assert "weights=linear" not in text
    assert "weights=quadratic" not in text


# --- over time


@pytest.fixture
def two(question: Any, rate: Any, utc: Any) -> Any:
    """Two raters over two weeks; they part in the second."""
    for week in (0, 1):
        for item in range(15):
            step = int(week and item % 3 == 0)
            moment = utc(2026, 3, 3 + 7 * week, 9)
            rate(question, f"w{week}-{item}", "a", LABELS[item % 3], rated_at=moment)
            rate(question, f"w{week}-{item}", "b", LABELS[item % 3 + step], rated_at=moment)
    bring_up_to_date(question.pk)
    return question


def kappa_of_week(week: int) -> float:
    own = [item % 3 for item in range(15)]
    other = [code + int(week and code == 0) for code in own]
    codes = np.array([own, other]).T
    value: float = report(codes, categories=4)["weighted_kappa_quadratic"]
    return value


def test_of_two_raters_the_trend_is_cohen_s(
    project: Any, two: Any, lead: Any, client_for: Any, api_for: Any
) -> None:
    page = client_for(lead).get(f"/projects/{project.pk}/?period=week")
    assert page.context["chosen"].coefficient == "cohen_kappa_quadratic"
    assert "Each period: the days on which the first of the two rated." in page.content.decode()
    values = [point.reading["value"] for point in page.context["points"]]
    assert values == pytest.approx([kappa_of_week(0), kappa_of_week(1)])
    chart = client_for(lead).get(f"/projects/{project.pk}/charts/trend.json?period=day").json()
    assert [row["value"] for row in chart["rows"]] == pytest.approx(values)
    with time_machine.travel(f"{page.context['points'][-1].end}T12:00:00Z", tick=False):
        client = client_for(lead)
        for address in ("/", f"/projects/{project.pk}/questions/"):  # the small lines beside it
            (row,) = client.get(address).context["rows"]
            assert row.course.line == pytest.approx(values)
    address = f"/api/v1/projects/{project.pk}/agreement/trend/"
    rows = api_for(lead).get(address).json()["results"]
    assert [row["value"] for row in rows] == pytest.approx(values)
    assert {row["coefficient"] for row in rows} == {"cohen_kappa_quadratic"}
    asked = api_for(lead).get(f"{address}?coefficient=fleiss_kappa").json()["results"]
    assert {row["coefficient"] for row in asked} == {"fleiss_kappa"}


@pytest.fixture
def scores(project: Any) -> Any:
    """The question with grades of 0 to 3."""
    question = project.questions.get()
    question.scale = "interval"
    question.save()
    for value, category in enumerate(question.categories.all()):
        category.value = value
        category.save()
    return question


def icc_of_week(week: int, name: str = "icc2") -> dict[str, Any]:
    own = [item % 3 for item in range(15)]
    other = [code + int(week and code == 0) for code in own]
    found = report(np.array([own, other]).T, categories=4, values=[0, 1, 2, 3])
    return {part: found[f"{name}{end}"] for part, end in
            (("value", ""), ("low", ".ci_low"), ("high", ".ci_high"))}  # fmt: skip


@pytest.mark.parametrize("name", ["icc2", "icc3"])
def test_of_two_raters_the_icc_over_time_is_exact(
    project: Any, scores: Any, two: Any, lead: Any, client_for: Any, api_for: Any, name: str
) -> None:
    if name != "icc2":  # the lead's choice, not the table's
        change_headline(question=scores, headline=name, note="No levels.", pooled=False, by=lead)
        bring_up_to_date(scores.pk)
    page = client_for(lead).get(f"/projects/{project.pk}/?period=week")
    assert page.context["headline_name"] == page.context["chosen"].coefficient == name
    assert "Each period: the days on which the first of the two rated." in page.content.decode()
    expected = [icc_of_week(0, name), icc_of_week(1, name)]
    found = [point.reading for point in page.context["points"]]
    for part in ("value", "low", "high"):
        assert [one[part] for one in found] == pytest.approx([one[part] for one in expected])
    assert [(one["n_items"], one["n_ratings"]) for one in found] == [(15, 30), (15, 30)]
    values = [one["value"] for one in expected]
    assert values[1] < values[0]
    for period in ("day", "month"):
        chart = client_for(lead).get(f"/projects/{project.pk}/charts/trend.json?period={period}")
        whole = Reading.objects.get(question=two, span="all").headline["value"]["value"]
        wanted = values if period == "day" else [whole]
        assert [row["value"] for row in chart.json()["rows"]] == pytest.approx(wanted)
    with time_machine.travel(f"{page.context['points'][-1].end}T12:00:00Z", tick=False):
        client = client_for(lead)
        for address in ("/", f"/projects/{project.pk}/questions/"):
            (row,) = client.get(address).context["rows"]
            assert row.course.line == pytest.approx(values)


def test_the_api_pages_through_the_icc_of_two(
    project: Any, scores: Any, two: Any, lead: Any, api_for: Any
) -> None:
    address = f"/api/v1/projects/{project.pk}/agreement/trend/?page_size=1"
    first = api_for(lead).get(address).json()
    second = api_for(lead).get(first["next"]).json()
    rows = [*first["results"], *second["results"]]
    assert [row["start"] for row in rows] == ["2026-03-02", "2026-03-09"]
    assert [row["value"] for row in rows] == pytest.approx(
        [icc_of_week(0)["value"], icc_of_week(1)["value"]]
    )
    assert {row["coefficient"] for row in rows} == {"icc2"}
    assert second["next"] is None


def test_two_raters_who_share_not_all_are_read_by_alpha(
    project: Any, scores: Any, two: Any, rate: Any, lead: Any, api_for: Any
) -> None:
    rate(two, "alone", "a", LABELS[0])
    change_headline(question=two, headline="icc2", note="Asked for.", pooled=False, by=lead)
    bring_up_to_date(two.pk)
    rows = api_for(lead).get(f"/api/v1/projects/{project.pk}/agreement/trend/").json()["results"]
    assert {row["coefficient"] for row in rows} == {"krippendorff_alpha_interval"}


def test_what_stands_for_an_icc_of_three_over_time_is_said(
    project: Any, scores: Any, lead: Any, client_for: Any, api_for: Any, rate: Any
) -> None:
    question = scores
    for item in range(12):
        for rater in "abc":
            rate(question, f"i{item}", rater, LABELS[item % 4])
    bring_up_to_date(question.pk)
    text = dashboard(client_for(lead), project)
    assert "ICC(A,1), absolute agreement of a period needs who rated what in it" in text
    rows = api_for(lead).get(f"/api/v1/projects/{project.pk}/agreement/trend/").json()["results"]
    assert {row["coefficient"] for row in rows} == {"krippendorff_alpha_interval"}
