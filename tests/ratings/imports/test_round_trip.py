"""What Concord exports, an empty project takes, and exports alike."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from projects.models import GuidelineVersion, Project, Rater
from projects.services.projects import change_project
from ratings.models import Rating
from tests.ratings.imports.wizard_client import Wizard

pytestmark = pytest.mark.django_db

LONG_AGO = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)


@pytest.fixture
def newcomer(lead: Any, client_for: Any) -> Wizard:
    return Wizard(client_for(lead))


@pytest.fixture
def original(project: Project, question: Any, lead: Any, rate: Any) -> Project:
    """Ratings under two versions of the guidelines, and one of a time before them; models among
    the raters, one of them without a name."""
    of_model = {"project": project, "kind": "model"}
    Rater.objects.create(key="gpt@v2", model="gpt", prompt_version="v2", **of_model)
    Rater.objects.create(key="oracle", **of_model)
    change_project(project=project, by=lead, guidelines="Look twice.")
    rate(question, "b", "zoe", "minor")
    rate(question, "b", "ann", "minor", comment="=so, or\n“so”")
    change_project(project=project, by=lead, guidelines="Look three times.")
    rate(question, "a", "ben", "major")
    rate(question, "a", "ann", "none", rated_at=LONG_AGO)
    rate(question, "c", "gpt@v2", "none")
    rate(question, "c", "oracle", "minor")
    return project


def exported(wizard: Wizard, project: Project, kind: str) -> bytes:
    response: Any = wizard.client.get(f"/projects/{project.pk}/data/export.{kind}")
    return b"".join(response.streaming_content)


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_the_copy_exports_the_same_bytes(newcomer: Wizard, original: Project, kind: str) -> None:
    file = exported(newcomer, original, kind)
    newcomer.all(file)
    copy = Project.objects.latest("id")
    assert exported(newcomer, copy, kind) == file
    assert exported(newcomer, copy, "jsonl") == exported(newcomer, original, "jsonl")
    stamps = Rating.objects.filter(question__project=copy).order_by("item__key", "rater__key")
    assert list(stamps.values_list("guidelines", flat=True)) == [None, 2, 1, 1, 2, 2]
    known = copy.raters.order_by("key").values_list("key", "kind", "model", "prompt_version")
    assert list(known) == [
        ("ann", "human", "", ""),
        ("ben", "human", "", ""),
        ("gpt@v2", "model", "gpt", "v2"),
        ("oracle", "model", "oracle", ""),
        ("zoe", "human", "", ""),
    ]
    # and a second time nothing changes
    newcomer.project = copy
    assert newcomer.all(file).summary["outcome"]["unchanged"] == 6
    assert exported(newcomer, copy, kind) == file


def test_own_guidelines_of_the_copy_come_after_those_of_the_file(
    newcomer: Wizard, original: Project, lead: Any, rate: Any
) -> None:
    newcomer.all(exported(newcomer, original, "jsonl"))
    copy = Project.objects.latest("id")
    page = newcomer.client.get(f"/projects/{copy.pk}/guidelines/")
    assert page.status_code == 200
    assert "The lead has not written guidelines yet." in page.content.decode()
    change_project(project=copy, by=lead, guidelines="Our own.")
    assert GuidelineVersion.objects.get(project=copy).number == 3
    assert newcomer.client.get(f"/projects/{copy.pk}/guidelines/").status_code == 200
    rate(copy.questions.get(), "d", "ann", "none")
    assert Rating.objects.get(item__key="d", question__project=copy).guidelines == 3


def test_versions_that_a_project_does_not_have_are_unknown(
    lead: Any, client_for: Any, project: Project, question: Any
) -> None:
    change_project(project=project, by=lead, guidelines="Look twice.")
    line = '{"item":"%s","rater":"ann","question":"severity","label":"none",'
    line += '"rated_at":"2020-01-01T00:00:00Z","guidelines":%s}\n'
    file = (line % ("a", 1) + line % ("b", 2) + line % ("c", "null")).encode()
    Wizard(client_for(lead), project).all(file)
    stamps = Rating.objects.order_by("item__key").values_list("guidelines", flat=True)
    assert list(stamps) == [1, None, None]


def test_what_is_no_version_is_a_problem(lead: Any, client_for: Any, project: Project) -> None:
    line = '{"item":"a","rater":"ann","question":"severity","label":"none",'
    line += '"rated_at":"2020-01-01T00:00:00Z","guidelines":"first"}'
    run = Wizard(client_for(lead), project).check(line.encode())
    assert [problem["kind"] for problem in run.problems] == ["guidelines"]
    assert (run.problems[0]["line"], run.problems[0]["column"]) == (1, "guidelines")


def test_a_column_called_model_alone_makes_nobody_a_model(
    lead: Any, client_for: Any, project: Project, question: Any
) -> None:
    Wizard(client_for(lead), project).all(b"item,rater,label,model\na,ann,none,gpt\n")
    assert project.raters.get().kind == "human"
