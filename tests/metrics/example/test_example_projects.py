"""The example projects: their contents, that they load once, and that every number is filled."""

from __future__ import annotations

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from metrics.example import fleiss1971, loader, simulation
from metrics.models import PairTally, RaterResult, Result
from projects.models import GoldAnswer, Item, Project
from quality import tasks
from quality.models import GoldIntervention, GoldItem, GoldScore
from ratings.models import Rating, Revision


def test_published_table_has_six_diagnoses_per_patient():
    assert [sum(row) for row in fleiss1971.COUNTS] == [6] * 30
    assert [sum(column) for column in zip(*fleiss1971.COUNTS, strict=True)] == [26, 26, 30, 55, 43]


@pytest.fixture(scope="module")
def simulated_data():
    return simulation.simulate_project()


def test_simulation_is_reproducible(simulated_data):
    assert simulation.simulate_project() == simulated_data
    ratings_text = ",".join(
        f"{rating.item}:{rating.rater}:{rating.code}" for rating in simulated_data.ratings
    )
    other_data = simulation.simulate_project(seed=1)
    assert ratings_text != ",".join(
        f"{rating.item}:{rating.rater}:{rating.code}" for rating in other_data.ratings
    )


def test_items_except_the_last_have_two_to_four_raters(simulated_data):
    pairs = [(rating.item, rating.rater) for rating in simulated_data.ratings]
    assert len(set(pairs)) == len(pairs)
    numbers = np.bincount([item for item, _ in pairs], minlength=simulation.N_ITEMS)
    assert set(numbers[: -simulation.N_UNRATED].tolist()) == {2, 3, 4}
    assert set(numbers[-simulation.N_UNRATED :].tolist()) == {0}


@pytest.mark.django_db
def test_guidelines_were_rewritten_in_sixth_week(lead):
    loader.load_examples(owner=lead, count=False)
    project = loader.find_example(lead)
    assert project
    assert project.guidelines_version == 2
    first, second = project.guideline_versions.all()
    assert (second.created_at - first.created_at).days == loader.GUIDELINES_CHANGE_DAY
    for version, before, after in (
        (1, first.created_at, second.created_at),
        (2, second.created_at, None),
    ):
        revisions = Revision.objects.filter(rating__question__project=project, guidelines=version)
        assert revisions.exists()
        assert (
            not revisions.filter(rated_at__lt=before).exists() or version == 2
        )  # some ratings were corrected today
        assert after is None or not revisions.filter(rated_at__gte=after).exists()
    assert not Rating.objects.filter(question__project=project, guidelines=None).exists()


@pytest.mark.django_db
def test_gold_answers_are_true_and_scored_for_every_person(lead, simulated_data):
    loader.load_examples(owner=lead)
    project = loader.find_example(lead)
    assert project
    golds = GoldAnswer.objects.filter(question__project=project).order_by("item")
    true_codes = [item.true_severity for item in simulated_data.items[: -simulation.N_UNRATED]]
    assert [[int(code) for code in gold.answer] for gold in golds] == [
        [code] for code in true_codes[:: simulation.GOLD_INTERVAL]
    ]
    assert set(golds.values_list("by", flat=True)) == {lead.pk}
    tasks.sweep_gold()
    scores = GoldScore.objects.filter(question__project=project)
    assert scores.count() == len(simulation.RATERS)
    assert not GoldItem.objects.filter(question__project=project, suspected=True).exists()
    assert not GoldIntervention.objects.exists()


def test_answer_probabilities_are_probabilities():
    for rater in range(len(simulation.RATERS)):
        table = simulation.compute_answer_probabilities(rater)
        np.testing.assert_allclose(table.sum(axis=1), 1)
        assert (table >= 0).all()


def test_one_rater_chooses_major_half_as_often_after_six_weeks(simulated_data):
    def compute_share(rater, late):
        codes = [
            rating.code
            for rating in simulated_data.ratings
            if rating.rater == rater
            and (rating.minute >= simulation.DRIFT_START_DAY * 24 * 60) == late
        ]
        return codes.count(simulation.MAJOR) / len(codes)

    drifting = compute_share(simulation.DRIFTING_RATER, late=True) / compute_share(
        simulation.DRIFTING_RATER, late=False
    )
    steady = [
        compute_share(rater, late=True) / compute_share(rater, late=False)
        for rater in range(len(simulation.RATERS))
        if rater != simulation.DRIFTING_RATER
    ]
    assert 0.35 < drifting < 0.65
    assert min(steady) > 0.7


def test_example_matrix_is_valid():
    from projects.services import weight_matrix

    assert (
        weight_matrix.find_matrix_problem(loader.SEVERITY_MATRIX, len(simulation.SEVERITY_LABELS))
        is None
    )


@pytest.mark.django_db
def test_both_projects_have_results(admin):
    call_command("load_example")
    fleiss, translations = Project.objects.order_by("pk")
    for project in (fleiss, translations):
        question = project.questions.get()
        assert not Rating.objects.filter(question=question).uncounted().exists()
        spans = set(Result.objects.filter(question=question).values_list("period_unit", flat=True))
        assert spans == {"all", "day", "week", "month"}
        assert RaterResult.objects.filter(question=question).count() == project.raters.count()
        assert PairTally.objects.filter(question=question).exists()
    estimate = Result.objects.get(question__project=fleiss, period_unit="all").coefficients[
        "fleiss_kappa"
    ]
    assert estimate["value"] == pytest.approx(0.43024452006014074, abs=1e-12)
    assert (estimate["n_items"], estimate["n_ratings"]) == (30, 180)
    assert Result.objects.filter(question__project=translations, period_unit="week").count() in (
        10,
        11,
    )


@pytest.fixture
def small_example(monkeypatch, db):
    """Reduce the number of items of the example."""
    monkeypatch.setattr(simulation, "N_ITEMS", 340)


@pytest.mark.usefixtures("small_example")
class TestLoadingExample:
    def test_ratings_end_yesterday_and_are_recorded_normally(self, admin):
        from django.utils import timezone

        loader.load_examples(owner=admin, count=False)
        ratings = Rating.objects.filter(question__key="severity")
        latest = ratings.latest("rated_at").rated_at
        assert (timezone.now().date() - latest.date()).days == 1
        assert not ratings.exclude(revisions__source=Revision.Source.EXAMPLE).exists()
        assert ratings.filter(comment="Looked at it again.")[0].revisions.count() == 2
        unrated_items = Item.objects.filter(project__name=loader.TRANSLATIONS_PROJECT).order_by(
            "-pk"
        )[: simulation.N_UNRATED]
        assert {item.slots_taken for item in unrated_items} == {0}

    def test_loading_again_adds_nothing(self, admin, capsys):
        call_command("load_example", owner="admin")
        before = (Project.objects.count(), Item.objects.count(), Revision.objects.count())
        capsys.readouterr()
        call_command("load_example", owner="admin")
        assert "has the example projects already" in capsys.readouterr().out
        assert (Project.objects.count(), Item.objects.count(), Revision.objects.count()) == before

    def test_each_lead_has_own_example(self, lead, stranger):
        assert [
            project.members.get(role="lead").user
            for project in loader.load_examples(owner=lead, count=False)
        ] == [lead] * 2
        assert len(loader.load_examples(owner=stranger, count=False)) == 2

    def test_only_the_lead_has_an_account(self, lead):
        loader.load_examples(owner=lead, count=False)
        project = loader.find_example(lead)
        assert project
        assert [member.user for member in project.members.all()] == [lead]
        assert not project.raters.filter(user__isnull=False).exists()
        assert list(type(lead).objects.all()) == [lead]

    def test_buttons_disappear_when_examples_are_loaded(self, lead, client_for):
        client = client_for(lead)
        button_texts = "Explore sample project", "Textbook examples"
        assert [
            button_text in client.get("/").content.decode() for button_text in button_texts
        ] == [True, True]
        loader.load_examples(owner=lead, count=False)
        assert [
            button_text in client.get("/").content.decode() for button_text in button_texts
        ] == [False, True]
        loader.load_examples(owner=lead, count=False, worked=True)
        assert [
            button_text in client.get("/").content.decode() for button_text in button_texts
        ] == [False, False]

    def test_project_with_same_name_is_not_the_example(self, lead, make_project):
        from projects.models import Member

        own = make_project(loader.TRANSLATIONS_PROJECT)
        Member.objects.create(project=own, user=lead, role="lead")
        assert loader.find_example(lead) is None
        assert len(loader.load_examples(owner=lead, count=False)) == 2

    def test_unknown_owner_is_reported(self):
        with pytest.raises(CommandError, match="no active user 'nobody'"):
            call_command("load_example", owner="nobody")
        with pytest.raises(CommandError, match="no superuser yet"):
            call_command("load_example")

    def test_button_loads_example_once_and_redirects(self, client, client_for, stranger):
        assert client.post("/example/")["Location"].startswith("/sign-in/")
        own = client_for(stranger)
        assert own.get("/example/").status_code == 405
        project = loader.find_example(stranger)
        assert project is None
        first = own.post("/example/")["Location"]
        project = loader.find_example(stranger)
        assert project and first == f"/projects/{project.pk}/"
        assert own.post("/example/")["Location"] == first
        assert Project.objects.count() == 2
