"""Use the API by clients that public generators make of its schema.

GENERATORS is the folder `bin` of an environment apart from this one, with openapi-python-client and
datamodel-code-generator:

    python -m venv /tmp/generators
    /tmp/generators/bin/pip install openapi-python-client 'datamodel-code-generator[http]' httpx
    GENERATORS=/tmp/generators/bin pytest tests/drills/connections/test_generated_clients.py -m drill
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from metrics.jobs.question_updates import update_question
from projects.models import Question
from projects.services import tokens
from quality.consensus import recomputation
from ratings.models import Rating

pytestmark = [pytest.mark.drill, pytest.mark.timeout(600), pytest.mark.django_db(transaction=True)]

SET_UP = """
import json, sys
from client import AuthenticatedClient, models
from client.api.items import change_item, list_items, put_items
from client.api.labels import list_labels
from client.api.agreement import get_agreement
from client.api.projects import create_project, list_projects
from client.api.raters import list_raters, put_raters
from client.api.ratings import export_ratings, list_ratings, put_ratings

site = AuthenticatedClient(sys.argv[1], sys.argv[2], raise_on_unexpected_status=True)
"""
WRITE = """
question = {"key": "q", "text": "?", "scale": "nominal",
            "categories": [{"label": "a"}, {"label": "b"}]}
project = create_project.sync(
    client=site, body=models.ProjectIn.from_dict({"name": "Made", "questions": [question]}))
items = [{"key": f"i/{n}", "body": {"text": "x"}, "attributes": {"lang": ["de", "en"][n % 2]}}
         for n in range(20)]
put_items.sync(project.id, client=site, body=[models.ItemIn.from_dict(row) for row in items])
put_raters.sync(project.id, client=site, body=[models.RaterIn(key=key) for key in ("ann", "ben")])
ratings = [models.RatingIn(item=f"i/{n}", rater=rater, label="ab"[(n // 2 + (n < shift)) % 2])
           for n in range(20) for rater, shift in (("ann", 0), ("ben", 3))]
counts = [put_ratings.sync(project.id, client=site, body=ratings, dry_run=dry_run).created
          for dry_run in (True, False)]
problem = put_ratings.sync(
    project.id, client=site, body=models.RatingIn(item="i/1", rater="ann", label="zz"))
changed = change_item.sync(
    project.id, "i/1", client=site, body=models.ItemPatch.from_dict({"withdrawn": True}))
print(json.dumps({"project": project.id, "counts": counts, "code": problem.errors[0].code,
                  "withdrawn": changed.withdrawn}))
"""
# openapi-python-client knows no style "deepObject", so the name of the parameter is written out.
READ = """
project = list_projects.sync(client=site, name="Made", archived=False).results[0].id
english = {"attributes[lang]": "en"}
items = list_items.sync(
    project, client=site, attributes=models.ListItemsAttributes.from_dict(english))
pages, cursor = [], {}
while True:
    pages.append(list_ratings.sync(project, client=site, page_size=15, **cursor))
    if not pages[-1].next_:
        break
    cursor = {"cursor": pages[-1].next_.partition("cursor=")[2].partition("&")[0]}
raters = list_raters.sync(project, client=site, ordering=models.ListRatersOrdering("-key"))
labels = list_labels.sync(project, client=site, ordering=models.ListLabelsOrdering("confidence"))
agreement = get_agreement.sync(project, client=site)
print(json.dumps({
    "items": [item.key for item in items.results],
    "pages": [len(page.results) for page in pages],
    "raters": [rater.key for rater in raters.results],
    "labels": len(labels.results), "first": labels.results[0].confidence,
    "agreement": agreement.coefficients["percent_agreement"].value,
    "lines": len(export_ratings.sync(project, client=site).splitlines())}))
"""
PARSE = """
import json, sys
import models
body = json.loads(sys.stdin.read())
page = models.RatingPage.model_validate(body["ratings"])
agreement = models.AgreementOut.model_validate(body["agreement"])
problem = models.Problem.model_validate(body["problem"])
print(json.dumps([len(page.results), agreement.headline.name, problem.errors[0].field]))
"""


def run(folder: Path, *command: str, **options: Any) -> str:
    result = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, **options
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Return the folder of the generators; the schema is in a file of ``tmp_path``."""
    if "GENERATORS" not in os.environ:
        pytest.skip("no generators here: GENERATORS is the folder of their commands")
    (tmp_path / "schema.json").write_bytes(Client().get("/api/v1/schema/").content)
    return Path(os.environ["GENERATORS"])


def test_openapi_python_client_writes_and_reads(
    programs: Path, tmp_path: Path, live_server: Any, lead: Any
) -> None:
    options = ("--path", "schema.json", "--output-path", "client", "--meta", "none")
    output = run(tmp_path, str(programs / "openapi-python-client"), "generate", *options)
    assert "WARNING" not in output, output
    arguments = (live_server.url, tokens.create_token(user=lead))

    def use(script: str) -> Any:
        python = str(programs / "python")
        return json.loads(run(tmp_path, python, "-c", SET_UP + script, *arguments))

    written = use(WRITE)
    assert written["counts"] == [40, 40]
    assert (written["code"], written["withdrawn"]) == ("unknown_label", True)
    assert Rating.objects.count() == 40
    question = Question.objects.get(project=written["project"])
    update_question(question.pk)
    recomputation.recompute_question(question.pk)
    read = use(READ)
    assert read["items"] == [f"i/{number}" for number in range(1, 20, 2)]
    assert (read["pages"], read["raters"]) == ([15, 15, 10], ["ben", "ann"])
    assert (read["labels"], read["lines"]) == (20, 41)
    assert read["agreement"] == pytest.approx(17 / 20)


def test_models_of_datamodel_code_generator_parse_responses(
    programs: Path, tmp_path: Path, api_for: Any, lead: Any, question: Question, rate: Any
) -> None:
    options = ("--input", "schema.json", "--input-file-type", "openapi", "--output", "models.py")
    kind = ("--output-model-type", "pydantic_v2.BaseModel")
    run(tmp_path, str(programs / "datamodel-codegen"), *options, *kind)
    rate(question, "i1", "ann", "minor")
    update_question(question.pk)
    api, path = api_for(lead), f"/api/v1/projects/{question.project_id}/"
    body = {
        "ratings": api.get(f"{path}ratings/").json(),
        "agreement": api.get(f"{path}agreement/").json(),
        "problem": api.get(f"{path}ratings/?page_size=0").json(),
    }
    output = run(tmp_path, str(programs / "python"), "-c", PARSE, input=json.dumps(body))
    headline = body["agreement"]["headline"]["name"]
    assert json.loads(output) == [1, headline, "page_size"]
