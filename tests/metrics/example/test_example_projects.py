"""The example projects: their contents, that they load once, and that every number is filled."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from metrics.example import example_projects, simulation, worked_examples
from metrics.filtered import filtered_jobs
from metrics.filters import RatingFilter
from metrics.models import PairTally, RaterResult, Result
from metrics.question_scale import QuestionScale
from metrics.views.changes import views as change_views
from metrics.views.common.selection import Selection
from metrics.views.project_list.project_row import ProjectGroup
from projects.models import Deletion, Item, Member, Project
from quality import tasks
from quality.models import Alert, GoldIntervention, GoldItem, GoldScore
from quality.rater_status.status import list_rater_summaries
from ratings.models import Rating, Revision
from tests.cast import make_project


def test_published_table_has_six_diagnoses_per_patient():
    assert [sum(row) for row in worked_examples.COUNTS] == [6] * 30
    assert [sum(column) for column in zip(*worked_examples.COUNTS, strict=True)] == [
        26,
        26,
        30,
        55,
        43,
    ]


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


def test_items_except_the_last_have_all_their_raters(simulated_data):
    pairs = [(rating.item, rating.rater) for rating in simulated_data.ratings]
    assert len(set(pairs)) == len(pairs)
    numbers = np.bincount(
        [item for item, rater in pairs if rater < len(simulation.PEOPLE)],
        minlength=simulation.N_ITEMS,
    )
    assert set(numbers[: -simulation.N_UNRATED].tolist()) == {
        simulation.PEOPLE_PER_ITEM,
        simulation.GOLD_PEOPLE_PER_ITEM,
    }
    assert set(numbers[-simulation.N_UNRATED :].tolist()) == {0}


@pytest.mark.django_db
def test_guidelines_were_rewritten_in_the_fifth_week(lead):
    example_projects.create_missing_examples(owner=lead, count=False)
    project = example_projects.find_example(lead)
    assert project
    assert project.guidelines_version == 2
    first, second = project.guideline_versions.all()
    assert (second.created_at - first.created_at).days == simulation.GUIDELINES_CHANGE_DAY
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
def test_everything_in_the_story_is_found_and_nothing_else(lead, simulated_data):
    """Alerts, statuses and suspected gold answers are those that the simulation put in."""
    example_projects.create_missing_examples(owner=lead)
    project = example_projects.find_example(lead)
    assert project
    question = project.questions.get()
    tasks.sweep_gold_and_repeats()
    tasks.sweep_alerts()
    tasks.sweep_raters()
    alerts = Alert.objects.filter(question=question).order_by("kind")
    assert [(alert.kind, alert.rater and alert.rater.key, alert.state) for alert in alerts] == [
        ("gold_suspected", None, "open"),
        ("rater_drift", "goro", "open"),
        ("rater_same_answer", "hana", "open"),
    ]
    drift = alerts[1]
    start = project.guideline_versions.get(number=1).created_at.date()
    onset = start + datetime.timedelta(days=simulation.DRIFT_START_DAY)
    assert drift.since_earliest <= onset <= drift.since_latest
    summaries = list_rater_summaries(question, scale_is_ordered=True)
    statuses = {summary.rater.key: summary.status for summary in summaries}
    assert statuses == dict.fromkeys(simulation.PEOPLE, "ok") | {
        "emil": "check",
        "goro": "act",
        "hana": "act",
    }
    (emil,) = [summary for summary in summaries if summary.rater.key == "emil"]
    assert [reason.code for reason in emil.reasons] == ["harsh"]
    wrong = [
        simulated_data.items[index].key
        for index, category in simulated_data.list_gold_answers()
        if category != simulated_data.items[index].true_severity
    ]
    suspected = GoldItem.objects.filter(question=question, suspected=True)
    assert len(wrong) == simulation.N_WRONG_GOLD
    assert sorted(suspected.values_list("item__key", flat=True)) == sorted(wrong)
    assert GoldScore.objects.filter(question=question).count() == len(simulation.RATERS)
    assert not GoldIntervention.objects.exists()
    selection = Selection(
        project,
        [question],
        question,
        QuestionScale.for_question(question),
        None,
        None,
        None,
        RatingFilter(),
    )
    change_views.list_version_agreements(selection)
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    (effect,) = change_views.list_effects(change_views.list_version_agreements(selection))
    assert effect.low > 0


def test_example_matrix_is_valid():
    from projects.services import question_validation

    assert (
        question_validation.find_matrix_problem(
            example_projects.SEVERITY_MATRIX, len(simulation.SEVERITY_LABELS)
        )
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

        example_projects.create_missing_examples(owner=admin, count=False)
        ratings = Rating.objects.filter(question__key="severity")
        latest = ratings.latest("rated_at").rated_at
        assert (timezone.now().date() - latest.date()).days == 1
        assert not ratings.exclude(revisions__source=Revision.Source.EXAMPLE).exists()
        assert ratings.filter(comment="Looked at it again.")[0].revisions.count() == 2
        unrated_items = Item.objects.filter(
            project__name=example_projects.TRANSLATIONS_PROJECT
        ).order_by("-pk")[: simulation.N_UNRATED]
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
            for project in example_projects.create_missing_examples(owner=lead, count=False)
        ] == [lead] * 2
        assert len(example_projects.create_missing_examples(owner=stranger, count=False)) == 2

    def test_only_the_lead_has_an_account(self, lead):
        example_projects.create_missing_examples(owner=lead, count=False)
        project = example_projects.find_example(lead)
        assert project
        assert [member.user for member in project.members.all()] == [lead]
        assert not project.raters.filter(user__isnull=False).exists()
        assert list(type(lead).objects.all()) == [lead]

    def test_buttons_disappear_when_examples_are_loaded(self, lead, client_for):
        client = client_for(lead)
        button_texts = "Explore sample project", "Textbook examples"
        assert [
            button_text in client.get("/").content.decode() for button_text in button_texts
        ] == [True, False]
        example_projects.create_missing_examples(owner=lead, count=False)
        assert [
            button_text in client.get("/").content.decode() for button_text in button_texts
        ] == [False, True]
        example_projects.create_missing_examples(owner=lead, count=False, worked=True)
        assert [
            button_text in client.get("/").content.decode() for button_text in button_texts
        ] == [False, False]

    def test_examples_are_left_out_of_lists_and_inbox_and_removed_at_once(self, lead, client_for):
        own = make_project("Own project")
        Member.objects.create(project=own, user=lead, role=Member.Role.LEAD)
        project = example_projects.create_missing_examples(owner=lead)[1]
        tasks.sweep_labels_and_queues()
        client = client_for(lead)
        page = client.get("/")
        assert [row.project for row in page.context["rows"]] == [own]
        assert (ProjectGroup.EXAMPLES, 2) in page.context["listed"].groups
        assert client.get("/inbox/").context["rows"] == []
        assert client.get(f"/inbox/?project={project.pk}").context["rows"] == []
        assert not client.get("/raters/").context["page"].object_list
        assert not client.get(f"/projects/{project.pk}/").context["navigation"].inbox
        rows = client.get("/?group=examples").context["rows"]
        assert {row.project for row in rows} == {*example_projects.list_examples(lead)}
        assert len(rows) == 2
        deletions = Deletion.objects.filter(kind=Deletion.Kind.PROJECT)
        client.post("/example/remove/", {"project": own.pk})
        assert not deletions.exists()
        client.post("/example/remove/", {"project": project.pk})
        assert deletions.get().target == project.pk
        client.post("/example/remove/")
        assert {deletion.target for deletion in deletions} == {row.project.pk for row in rows}

    def test_list_without_own_projects_shows_the_examples(self, lead, client_for):
        example_projects.create_missing_examples(owner=lead, count=False)
        page = client_for(lead).get("/")
        assert len(page.context["rows"]) == 2
        assert "Remove examples" in page.text

    def test_tour_links_to_what_there_is_to_find_until_it_is_closed(self, lead, client_for):
        project = example_projects.create_missing_examples(owner=lead)[1]
        client = client_for(lead)
        address = f"/projects/{project.pk}/"
        page = client.get(address).text
        assert "Tour of the sample project" in page
        for path in ("alerts/", "raters/emil/", "raters/hana/", "guidelines/effect/", "gold/"):
            assert f'href="{address}{path}"' in page
            assert client.get(address + path).status_code == 200
        assert client.post(f"{address}tour/close/")["Location"] == address
        assert "Tour of the sample project" not in client.get(address).text
        assert client.get(f"{address}tour/close/").status_code == 405

    def test_project_with_same_name_is_not_the_example(self, lead, make_project):
        from projects.models import Member

        own = make_project(example_projects.TRANSLATIONS_PROJECT)
        Member.objects.create(project=own, user=lead, role="lead")
        assert example_projects.find_example(lead) is None
        assert len(example_projects.create_missing_examples(owner=lead, count=False)) == 2

    def test_unknown_owner_is_reported(self):
        with pytest.raises(CommandError, match="no active user 'nobody'"):
            call_command("load_example", owner="nobody")
        with pytest.raises(CommandError, match="no superuser yet"):
            call_command("load_example")

    def test_button_loads_example_once_and_redirects(self, client, client_for, stranger):
        assert client.post("/example/")["Location"].startswith("/sign-in/")
        own = client_for(stranger)
        assert own.get("/example/").status_code == 405
        project = example_projects.find_example(stranger)
        assert project is None
        first = own.post("/example/")["Location"]
        project = example_projects.find_example(stranger)
        assert project and first == f"/projects/{project.pk}/"
        assert own.post("/example/")["Location"] == first
        assert Project.objects.count() == 2
