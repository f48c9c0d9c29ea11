"""Examples are read-only: no request of a member or a superuser changes one."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User

from projects.models import Item, Question
from projects.services import tokens
from tests.ratings.annotation.test_rate_blindness import iter_urls
from tests.row_snapshots import list_rows

pytestmark = pytest.mark.django_db

# Rows that belong to the user or are computed on request.
OWN_MODELS = {
    "agreement_site.AuditLogEntry",
    "metrics.FilteredResult",
    "metrics.Report",
    "projects.ApiToken",  # its last use
    "projects.Member",  # starred
}
CONTENT_MODELS = [
    model
    for app in ("projects", "ratings", "quality", "metrics", "events")
    for model in apps.get_app_config(app).get_models()
    if model._meta.label not in OWN_MODELS
]


class RouteValues(dict[str, list[object]]):
    """Values of the parameters of routes; 1 for all others."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> list[object]:
        return [1]


@pytest.fixture(autouse=True)
def disable_logging() -> Iterator[None]:
    """Disable logging: these tests cause hundreds of expected refusals."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


def test_no_request_changes_an_example(
    project: Any, question: Question, rate: Any, admin: User, client_for: Any
) -> None:
    """Also not of a superuser who created it: pages, the API with a session and with a token."""
    Item.objects.create(project=project, key="i1", body={"text": "A text"})
    rate(question, "i0", "ann", "minor")
    project.is_example, project.created_by = True, admin
    project.save()
    values = RouteValues(
        project_id=[project.pk],
        question_id=[question.pk],
        question_key=[question.key],
        key=["i0", "ann"],
        item_key=["i0"],
        rater_key=["ann"],
        item_id=[item.pk for item in project.items.all()],
        rater_id=[project.raters.get(key="ann").pk],
        member_id=[member.pk for member in project.members.all()],
    )
    urls = [url for url in iter_urls(values) if f"/projects/{project.pk}/" in url]
    assert len(urls) > 100
    secret = tokens.create_token(user=admin, project=project)
    client = client_for(admin)
    before = list_rows(CONTENT_MODELS)
    changes = []
    for url in urls:
        headers = {"Authorization": f"Bearer {secret}"} if url.startswith("/api/") else {}
        for method in ("post", "put", "patch", "delete"):
            body = {"data": {}, "content_type": "application/json"} if headers else {}
            response = getattr(client, method)(url, headers=headers, **body)
            assert response.status_code < 500, (method, url)
            # Comparing all rows takes longer than a request.
            if response.status_code < 400 and list_rows(CONTENT_MODELS) != before:
                changes.append((method, url))
                before = list_rows(CONTENT_MODELS)
    assert changes == []
    assert list_rows(CONTENT_MODELS) == before


def test_page_and_api_say_that_an_example_is_read_only(
    project: Any, question: Question, lead: User, client_for: Any
) -> None:
    project.is_example = True
    project.save()
    client = client_for(lead)
    address = f"/projects/{project.pk}/"
    refused = client.post(f"{address}settings/", {"name": "Mine"})
    assert refused.status_code == 403
    assert "Examples are read-only" in refused.text
    refused = client.patch(f"/api/v1{address}", {"name": "Mine"}, content_type="application/json")
    assert refused.status_code == 403
    assert "Examples are read-only" in refused.json()["error"]["message"]
    page = client.get(address)
    assert page.status_code == 200
    assert page.context["navigation"].rate_link is None
    assert f"{address}settings/" not in page.text
