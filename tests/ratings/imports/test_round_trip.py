"""A project that imports an export of Concord has the same export."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from projects.models import GuidelineVersion, Project, Rater
from projects.services.projects import change_project
from ratings.models import Rating
from tests.ratings.imports.wizard_client import WizardClient

pytestmark = pytest.mark.django_db

LONG_AGO = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)


@pytest.fixture
def new_project_wizard(lead: Any, client_for: Any) -> WizardClient:
    return WizardClient(client_for(lead))


@pytest.fixture
def original_project(project: Project, question: Any, lead: Any, rate: Any) -> Project:
    """Return a project with ratings under two guideline versions and one from before them.

    Some raters are models, one of them without a model name.
    """
    model_fields = {"project": project, "kind": "model"}
    Rater.objects.create(key="gpt@v2", model="gpt", prompt_version="v2", **model_fields)
    Rater.objects.create(key="oracle", **model_fields)
    change_project(project=project, by=lead, guidelines="Look twice.")
    rate(question, "b", "zoe", "minor")
    rate(question, "b", "ann", "minor", comment="=so, or\n“so”")
    change_project(project=project, by=lead, guidelines="Look three times.")
    rate(question, "a", "ben", "major")
    rate(question, "a", "ann", "none", rated_at=LONG_AGO)
    rate(question, "c", "gpt@v2", "none")
    rate(question, "c", "oracle", "minor")
    return project


def export_project(wizard: WizardClient, project: Project, kind: str) -> bytes:
    """Return the export of ratings that were all stored at the same moment, which the copy's aren't."""
    Rating.objects.update(changed_at=LONG_AGO)
    response: Any = wizard.client.get(f"/projects/{project.pk}/data/export.{kind}")
    return b"".join(response.streaming_content)


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_the_copy_exports_the_same_bytes(
    new_project_wizard: WizardClient, original_project: Project, kind: str
) -> None:
    file = export_project(new_project_wizard, original_project, kind)
    new_project_wizard.import_file(file)
    copy = Project.objects.latest("id")
    assert export_project(new_project_wizard, copy, kind) == file
    assert export_project(new_project_wizard, copy, "jsonl") == export_project(
        new_project_wizard, original_project, "jsonl"
    )
    ratings = Rating.objects.filter(question__project=copy).order_by("item__key", "rater__key")
    assert list(ratings.values_list("guidelines", flat=True)) == [None, 2, 1, 1, 2, 2]
    raters = copy.raters.order_by("key").values_list("key", "kind", "model", "prompt_version")
    assert list(raters) == [
        ("ann", "human", "", ""),
        ("ben", "human", "", ""),
        ("gpt@v2", "model", "gpt", "v2"),
        ("oracle", "model", "oracle", ""),
        ("zoe", "human", "", ""),
    ]
    # A second import changes nothing.
    new_project_wizard.project = copy
    assert new_project_wizard.import_file(file).summary["outcome"]["unchanged"] == 6
    assert export_project(new_project_wizard, copy, kind) == file


def test_new_guidelines_are_numbered_after_those_of_the_file(
    new_project_wizard: WizardClient, original_project: Project, lead: Any, rate: Any
) -> None:
    new_project_wizard.import_file(export_project(new_project_wizard, original_project, "jsonl"))
    copy = Project.objects.latest("id")
    page = new_project_wizard.client.get(f"/projects/{copy.pk}/guidelines/")
    assert page.status_code == 200
    assert "There are no guidelines yet." in page.content.decode()
    change_project(project=copy, by=lead, guidelines="Our own.")
    assert GuidelineVersion.objects.get(project=copy).number == 3
    assert new_project_wizard.client.get(f"/projects/{copy.pk}/guidelines/").status_code == 200
    rate(copy.questions.get(), "d", "ann", "none")
    assert Rating.objects.get(item__key="d", question__project=copy).guidelines == 3


def test_guideline_versions_that_do_not_exist_become_unknown(
    lead: Any, client_for: Any, project: Project, question: Any
) -> None:
    change_project(project=project, by=lead, guidelines="Look twice.")
    line = '{"item":"%s","rater":"ann","question":"severity","label":"none",'
    line += '"rated_at":"2020-01-01T00:00:00Z","guidelines":%s}\n'
    file = (line % ("a", 1) + line % ("b", 2) + line % ("c", "null")).encode()
    WizardClient(client_for(lead), project).import_file(file)
    versions = Rating.objects.order_by("item__key").values_list("guidelines", flat=True)
    assert list(versions) == [1, None, None]


@pytest.mark.parametrize("version", ["first", "40000", "0000000019999999"])
def test_invalid_guideline_version_is_an_error(
    lead: Any, client_for: Any, project: Project, version: str
) -> None:
    line = '{"item":"a","rater":"ann","question":"severity","label":"none",'
    line += f'"rated_at":"2020-01-01T00:00:00Z","guidelines":"{version}"}}'
    run = WizardClient(client_for(lead), project).upload_and_validate(line.encode())
    assert [problem["kind"] for problem in run.problems] == ["guidelines"]
    assert (run.problems[0]["line"], run.problems[0]["column"]) == (1, "guidelines")


def test_model_column_alone_makes_no_rater_a_model(
    lead: Any, client_for: Any, project: Project, question: Any
) -> None:
    WizardClient(client_for(lead), project).import_file(b"item,rater,label,model\na,ann,none,gpt\n")
    assert project.raters.get().kind == "human"
