"""The trail as page, file and API: who sees which lines, and how they are chosen."""

from __future__ import annotations

import csv
import datetime
import io
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agreement_site.models import Preference, TrailLine
from projects.models import Project

pytestmark = pytest.mark.django_db

Clients = Callable[[User], Client]


def line(project: Project | None, what: str = "export", actor: str = "lead", **more: Any) -> int:
    at = more.pop("at", None)
    made = TrailLine.objects.create(
        what=what, actor=actor, project_id=project.pk if project else None, **more
    )
    if at is not None:
        TrailLine.objects.filter(pk=made.pk).update(at=at)
    return made.pk


@pytest.fixture
def other(make_project: Callable[..., Project]) -> Project:
    return make_project("Another")


def ids(answer: Any) -> list[int]:
    return [int(row["id"]) for row in csv.DictReader(io.StringIO(body(answer)))]


def body(answer: Any) -> str:
    return b"".join(answer.streaming_content).decode()


def test_a_lead_sees_the_lines_of_the_project_and_an_administrator_all(
    client_for: Clients, project: Project, other: Project, lead: User, admin: User
) -> None:
    own = line(project, "role_changed", before={"role": "viewer"}, after={"role": "lead"})
    foreign, of_nobody = line(other), line(None, "sign_in", address="10.1.1.1")
    page = client_for(lead).get(f"/projects/{project.pk}/trail/")
    shown = page.content.decode()
    assert [one["act"] for one in page.context["lines"]] == ["changed a role"]
    assert "<del>viewer</del>" in shown
    assert "<ins>lead</ins>" in shown
    everything = client_for(admin).get("/trail/")
    assert len(everything.context["lines"]) == 3
    assert "10.1.1.1" in everything.content.decode()
    assert ids(client_for(lead).get(f"/projects/{project.pk}/trail.csv"))[-1] == own
    assert {own, foreign, of_nobody} < set(ids(client_for(admin).get("/trail.csv")))
    assert client_for(admin).get(f"/projects/{project.pk}/trail/").status_code == 200


@pytest.mark.parametrize("path", ["trail/", "trail.csv"])
def test_nobody_else_sees_any(
    path: str, client_for: Clients, project: Project, make_user: Callable[..., User]
) -> None:
    staff = make_user("staff", is_staff=True)
    stranger = make_user("stranger")
    for name, of_project in (("viewer", 403), ("annotator", 403)):
        client = client_for(User.objects.get(username=name))
        assert client.get(f"/projects/{project.pk}/{path}").status_code == of_project
        assert client.get(f"/{path}").status_code == 403
    for user in (staff, stranger):
        assert client_for(user).get(f"/projects/{project.pk}/{path}").status_code == 404
        assert client_for(user).get(f"/{path}").status_code == 403
    assert Client().get(f"/{path}").status_code == 302


def test_lines_are_chosen_by_actor_act_and_days_of_the_project(
    client_for: Clients, project: Project, lead: User, utc: Callable[..., datetime.datetime]
) -> None:
    Project.objects.filter(pk=project.pk).update(time_zone="Asia/Shanghai")
    early = line(project, at=utc(2026, 3, 1, 15, 59))  # 23:59 of the first there
    inside = line(project, "gold_changed", "viewer", at=utc(2026, 3, 1, 16, 0))
    late = line(project, at=utc(2026, 3, 2, 16, 0))
    address = f"/projects/{project.pk}/trail.csv"

    def chosen(**asked: str) -> list[int]:
        found = ids(client_for(lead).get(address, asked))
        return [pk for pk in found if pk in (early, inside, late)]

    assert chosen() == [late, inside, early]
    assert chosen(**{"from": "2026-03-02", "to": "2026-03-02"}) == [inside]
    assert chosen(to="2026-03-01") == [early]
    assert chosen(**{"from": "2026-03-03"}) == [late]
    assert chosen(**{"from": "2999-01-01"}) == []
    assert chosen(actor="viewer") == chosen(act="gold_changed") == [inside]
    assert chosen(actor="viewer", act="export") == []


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"act": "dance"}, "act"),
        ({"from": "soon"}, "from"),
        ({"to": "0001-01-01"}, "to"),
        ({"from": "2026-03-02", "to": "2026-03-01"}, "from"),
        ({"actor": "x" * 151}, "actor"),
    ],
)
def test_what_cannot_be_chosen_by_is_refused(
    asked: dict[str, str],
    named: str,
    client_for: Clients,
    api_for: Callable[..., Any],
    project: Project,
    lead: User,
) -> None:
    client = client_for(lead)
    page = client.get(f"/projects/{project.pk}/trail/", asked)
    assert (page.status_code, list(page.context["wrong"])) == (400, [named])
    assert client.get(f"/projects/{project.pk}/trail.csv", asked).status_code == 400
    answer = api_for(lead).get(f"/api/v1/projects/{project.pk}/trail/", asked)
    assert (answer.status_code, list(answer.json()["error"]["fields"])) == (400, [named])
    assert not TrailLine.objects.filter(what="export").exists()


def test_pages_by_cursor_show_each_line_once_whatever_comes_meanwhile(
    client_for: Clients, api_for: Callable[..., Any], project: Project, lead: User
) -> None:
    TrailLine.objects.bulk_create(
        TrailLine(what="export", actor="lead", project_id=project.pk, details={"n": n})
        for n in range(120)
    )
    client, address = client_for(lead), f"/projects/{project.pk}/trail/?act=export"
    seen = []
    following: int | None = 0
    while following is not None:
        page = client.get(f"{address}&after={following}")
        seen += [value for one in page.context["lines"] for _n, _words, value in one["details"]]
        following = page.context["next_after"]
        line(project, details={"n": 1000})
    assert seen == [str(n) for n in reversed(range(120))]
    api = api_for(lead)
    asked: str | None = f"/api/v1/projects/{project.pk}/trail/?page_size=50&act=export"
    told: list[int] = []
    while asked:
        answer = api.get(asked).json()
        told += [row["details"]["n"] for row in answer["results"]]
        asked = answer["next"]
    assert told == [1000, 1000, 1000, *reversed(range(120))]


def test_the_api_tells_all_of_a_line(
    api_for: Callable[..., Any], project: Project, lead: User, admin: User
) -> None:
    pk = line(project, before={"role": "viewer"}, after=None, address="::1", request_id="r1")
    (row,) = api_for(lead).get(f"/api/v1/projects/{project.pk}/trail/").json()["results"]
    assert row == {
        "id": pk,
        "at": row["at"],
        "what": "export",
        "actor_id": None,
        "actor": "lead",
        "project_id": project.pk,
        "address": "::1",
        "request_id": "r1",
        "before": {"role": "viewer"},
        "after": None,
        "details": {},
    }
    everything = api_for(admin).get("/api/v1/trail/?actor=lead").json()["results"]
    assert pk in [one["id"] for one in everything]
    bound = api_for(admin, project=project)  # to one project: not the site's
    assert bound.get("/api/v1/trail/").status_code == 403


def test_a_page_of_many_lines_asks_no_more_than_one_of_few(
    client_for: Clients, project: Project, lead: User
) -> None:
    def queries(query: str = "") -> int:
        client = client_for(lead)
        with CaptureQueriesContext(
            connection,
        ) as found:
            assert client.get(f"/projects/{project.pk}/trail/{query}").status_code == 200
        return len(found)

    line(project)
    few = queries()
    TrailLine.objects.bulk_create(
        TrailLine(what="export", project_id=project.pk) for _ in range(200)
    )
    assert queries() == few
    assert queries("?from=2026-01-01&to=2999-01-01") == few + 2


def test_formulas_in_names_do_nothing_in_the_file(
    client_for: Clients, project: Project, lead: User
) -> None:
    line(project, actor="=1+1")
    assert "'=1+1" in body(client_for(lead).get(f"/projects/{project.pk}/trail.csv"))


def test_people_and_the_account_lead_there(
    client_for: Clients, project: Project, lead: User, admin: User
) -> None:
    people = client_for(lead).get(f"/projects/{project.pk}/people/").content.decode()
    assert f'href="/projects/{project.pk}/trail/"' in people
    assert 'href="/trail/"' in client_for(admin).get("/tokens/").content.decode()
    assert 'href="/trail/"' not in client_for(lead).get("/tokens/").content.decode()


def test_what_moved_is_named_in_words_and_what_people_named_is_left(
    project: Project, client_for: Any, lead: User
) -> None:
    for what, before in (("role_changed", {"role": "viewer"}), ("gold_changed", {"role": "x"})):
        TrailLine.objects.create(what=what, project_id=project.pk, before=before, after={})
    Preference.objects.create(user=lead, language="zh-hans")
    page = client_for(lead).get(f"/projects/{project.pk}/trail/").content.decode()
    assert "<b>角色</b>" in page
    assert page.count("<code>role</code>") == 1  # an item of that key


@pytest.mark.parametrize(
    ("what", "told", "said"),
    [
        ("export", {"details": {"what_of": "table list-title", "kind": "csv"}}, "a table of a page"),
        ("export", {"details": {"what_of": "ratings", "kind": "csv"}}, "the ratings"),
        ("rater_paused", {"before": {"paused": False}, "after": {"paused": True}}, "<ins>yes</ins>"),
        ("view_shared", {"after": {"expires_at": "2026-03-01T09:30:12+00:00"}}, "2026-03-01 10:30 CET"),
        ("deletion_asked", {"details": {"kind": "rater"}}, "rater"),
        ("scale_changed", {"after": {"categories": [{"label": "x", "value": 1.5}]}}, "label: x · value: 1.5"),
        ("scale_changed", {"after": {"weights": "quadratic"}}, "<ins>quadratic</ins>"),
        ("project_changed", {"after": {"description": "2026-02-30T00:00 none"}}, "2026-02-30T00:00 none"),
        ("project_changed", {"after": {"description": "2026-02-30T00:00Z"}}, "2026-02-30T00:00Z"),
        ("project_changed", {"after": {"description": "2026-02-03T00:00"}}, "2026-02-03T00:00"),
    ],
)  # fmt: skip
def test_values_are_written_as_the_pages_call_them(
    what: str, told: dict[str, Any], said: str, project: Project, client_for: Any, lead: User
) -> None:
    Project.objects.filter(pk=project.pk).update(time_zone="Europe/Berlin")
    line(project, what, **told)
    page = client_for(lead).get(f"/projects/{project.pk}/trail/").content.decode()
    table = page.split("<tbody>")[1].split("</table>")[0]
    assert said in table
    for raw in ("true", "false", "+00:00", "list-title", "<code>"):
        assert raw not in table


def test_the_trail_of_the_site_names_projects(
    project: Project, other: Project, client_for: Any, admin: User
) -> None:
    line(project), line(other), line(None, "sign_in")
    TrailLine.objects.create(what="export", project_id=4_711)
    client = client_for(admin)
    page = client.get("/trail/").content.decode()
    for said in ("in Reviews", "in Another", "in project 4711, which is gone"):
        assert f">{said}</span>" in page
    assert "in Reviews" not in client.get(f"/projects/{project.pk}/trail/").content.decode()
