"""Views under a name, and links by which one of them is read without an account."""

from __future__ import annotations

import datetime
import html
import re
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from agreement_site.models import TrailLine
from metrics import tasks
from metrics.models import NamedView, ViewLink
from metrics.saved_views import services
from metrics.views.saved_views.link_removal import remove_links
from projects.models import Member, Project
from quality.rater_status import comparison
from tests import cast
from tests.cast import Cast

pytestmark = pytest.mark.django_db
LABELS = ("none", "minor", "major", "critical")
# What a page of ours leads to or sends to.
LEADS = re.compile(
    r"""(?:href|action|formaction|hx-(?:get|post|put|patch|delete)|data-find)=["']([^"']*)["']"""
)


def fill(made: Cast) -> None:
    for item in range(12):
        for place, rater in enumerate("abc"):
            cast.rate(made.question, f"i{item}", rater, LABELS[(item + (item % 5 == place)) % 4])
    tasks.sweep_all()


@pytest.fixture(scope="module")
def made_once(stage: Any) -> Cast:
    return stage(fill)


@pytest.fixture
def rated(question: Any) -> Any:
    return question


def keep(client: Client, project: Project, page: str = "dashboard", **sent: str) -> Any:
    sent = {"page": page, "name": "My view", "query": "question=severity"} | sent
    return client.post(f"/projects/{project.pk}/views/", sent)


def do(client: Client, view: NamedView, **sent: str) -> Any:
    return client.post(f"/projects/{view.project_id}/views/{view.pk}/", sent)


def until(days: int) -> str:
    return (timezone.now().date() + datetime.timedelta(days=days)).isoformat()


def link_of(answer: Any) -> str:
    found = re.search(r'id="made" value="http://testserver([^"]+)"', answer.content.decode())
    assert found
    return found[1]


@pytest.fixture
def linked(rated: Any, lead: Any, client_for: Any) -> str:
    """The address of a link to the overview of all ratings."""
    client = client_for(lead)
    keep(client, rated.project, query="question=severity&period=day")
    return link_of(do(client, NamedView.objects.get(), do="share", until=until(3)))


# --- names


def test_what_a_lead_keeps_is_found_by_all_who_see_results(
    rated: Any, lead: Any, viewer: Any, client_for: Any
) -> None:
    address = f"/projects/{rated.project_id}/"
    page = client_for(lead).get(f"{address}?period=day&page=1").content.decode()
    kept = re.search(r'name="query" value="([^"]*)"', page)
    assert kept
    query = html.unescape(kept[1])
    assert query == "question=severity&period=day"
    answer = keep(client_for(lead), rated.project, name=" By day ", query=query)
    assert answer["Location"] == f"{address}?{query}"
    client = client_for(viewer)
    shown = client.get(f"{address}?{query}").content.decode()
    there = f'<a href="{address}?{html.escape(query)}" aria-current="true">By day</a>'
    assert there in shown
    assert 'name="query"' not in shown
    assert "By day" not in client.get(f"{address}items/").content.decode()
    listed = client.get(f"{address}views/").content.decode()
    assert "question: Which severity? · period: day" in listed
    assert "<form" not in listed.split("<main")[1].split("</main>")[0]
    found = client.get("/find/", {"q": "by d", "project": rated.project_id}).content.decode()
    assert "By day" in found


def test_an_annotator_sees_no_view(rated: Any, annotator: Any, client_for: Any) -> None:
    client = client_for(annotator)
    assert client.get(f"/projects/{rated.project_id}/views/").status_code == 403
    services.create_saved_view(
        project=rated.project, page="items", name="Flagged", query="", by=annotator
    )
    found = client.get("/find/", {"q": "flag", "project": rated.project_id}).content.decode()
    assert "Flagged" not in found


def test_a_viewer_changes_nothing(rated: Any, lead: Any, viewer: Any, client_for: Any) -> None:
    assert keep(client_for(viewer), rated.project).status_code == 403
    keep(client_for(lead), rated.project)
    view = NamedView.objects.get()
    for what in ("rename", "share", "delete"):
        sent = {"do": what, "name": "Other", "until": until(3)}
        assert do(client_for(viewer), view, **sent).status_code == 403
    assert NamedView.objects.get().name == "My view"
    assert not ViewLink.objects.exists()


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"name": "  "}, "A name of 1 to 80 signs is needed."),
        ({"name": "x" * 81}, "A name of 1 to 80 signs is needed."),
        ({"page": "setup"}, "This page cannot be kept under a name."),
        ({"query": "search=" + "x" * 1000}, "This view says too much to be kept"),
        ({"query": "from=tomorrow"}, "must be a day"),
        ({"name": "Twice"}, "There is a view of this name already."),
    ],
)
def test_what_cannot_be_kept_is_said(
    rated: Any, lead: Any, client_for: Any, sent: dict[str, str], said: str
) -> None:
    services.create_saved_view(project=rated.project, page="items", name="Twice", query="", by=lead)
    answer = keep(client_for(lead), rated.project, **sent)
    assert answer.status_code == 400
    assert said in answer.content.decode()
    assert NamedView.objects.count() == 1


def test_a_project_has_so_many_views(
    rated: Any, lead: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "MAX_VIEWS", 1)
    services.create_saved_view(project=rated.project, page="items", name="One", query="", by=lead)
    with pytest.raises(services.InvalidSavedView, match="at most 1 views"):
        services.create_saved_view(
            project=rated.project, page="items", name="Two", query="", by=lead
        )


def test_a_view_is_renamed_and_deleted(rated: Any, lead: Any, client_for: Any) -> None:
    client = client_for(lead)
    keep(client, rated.project)
    view = NamedView.objects.get()
    assert do(client, view, do="rename", name="Other").status_code == 302
    assert do(client, view, do="rename", name="Other").status_code == 302  # its own name
    assert NamedView.objects.get().name == "Other"
    assert do(client, view, do="rename", name="").status_code == 400
    assert do(client, view, do="nothing").status_code == 400
    assert do(client, view, do="delete").status_code == 302
    assert not NamedView.objects.exists()


def test_what_tells_of_gold_is_the_leads(
    rated: Any, lead: Any, viewer: Any, client_for: Any
) -> None:
    query = "question=severity&state=gold"
    services.create_saved_view(
        project=rated.project, page="items", name="Known", query=query, by=lead
    )
    address = f"/projects/{rated.project_id}/views/"
    assert "Known" in client_for(lead).get(address).content.decode()
    assert "Known" not in client_for(viewer).get(address).content.decode()


# --- links


def test_whoever_has_the_link_reads_the_page_and_nothing_else(linked: str) -> None:
    answer = Client().get(linked)
    text = answer.content.decode()
    assert answer.status_code == 200
    assert "Which severity?" in text
    assert "36 ratings" in text
    leads = [
        found for found in LEADS.findall(text) if not found.startswith(("#", "/static/", "/fixed/"))
    ]
    assert set(leads) <= {linked, "/language/"}, leads
    assert "One point so far" in text  # of one day: no line
    assert re.findall(r"data-chart=\"([^\"]+)\"", text) == [f"{linked}pairs.json"]
    assert answer["Referrer-Policy"] == "no-referrer"
    assert answer["Cache-Control"] == "no-store, private"


def test_a_link_tells_of_no_single_item(linked: str) -> None:
    """Whoever still rates them may hold it."""
    text = Client().get(linked).content.decode()
    assert 'id="disputes"' not in text
    assert "i4" not in re.sub(r"<[^>]+>", " ", text).split()


def test_a_link_tells_of_a_case_and_asks_nobody_to_see_it(
    linked: str, rated: Any, lead: Any, client_for: Any, make_alarm: Any
) -> None:
    make_alarm(rated, rated.project.raters.get(key="a"))
    own = client_for(lead).get(f"/projects/{rated.project.pk}/").content.decode()
    assert "See the case" in own
    text = Client().get(linked).content.decode()
    assert 'class="findings"' in text
    assert "See the case" not in text


def test_a_link_shows_the_same_to_everybody(linked: str, lead: Any, client_for: Any) -> None:
    """Also to who is signed in, and whatever else the address says."""
    first = Client().get(linked).content.decode()
    mine = client_for(lead).get(f"{linked}?period=month&coefficient=gwet_ac1").content.decode()
    hidden = re.compile(r'name="csrfmiddlewaretoken" value="\w+"')
    assert hidden.sub("", mine) == hidden.sub("", first)


def test_the_charts_of_a_link_lead_nowhere(linked: str) -> None:
    for name in ("trend", "pairs"):
        answer = Client().get(f"{linked}{name}.json?rater=a")
        assert answer.status_code == 200
        assert answer.json()["rows"]
        assert b"/projects/" not in answer.content
    assert Client().get(f"{linked}rater-trend.json?rater=a").status_code == 404


def test_an_open_page_of_a_link_stays_right(linked: str) -> None:
    version = re.search(
        r'"X-Shown": "([^"]+)"', html.unescape(Client().get(linked).content.decode())
    )
    assert version
    assert Client().get(linked, headers={"X-Shown": version[1]}).status_code == 204


def test_the_raters_by_a_link(rated: Any, lead: Any, client_for: Any) -> None:
    client = client_for(lead)
    comparison.recompute_question(rated.pk, at_once=True)
    keep(client, rated.project, page="raters")
    link = link_of(do(client, NamedView.objects.get(), do="share", until=until(0)))
    text = Client().get(link).content.decode()
    assert "Kappa with peers" in text
    assert not [at for at in LEADS.findall(text) if at.startswith("/projects/")]
    main = text.split("<main")[1].split("</main>")[0]
    assert not re.search("<(input|select|form|a) ", main), main
    funnel = Client().get(f"{link}funnel.json")
    assert funnel.json()["rows"]
    assert b"/projects/" not in funnel.content


def test_a_list_of_items_has_no_link(rated: Any, lead: Any, client_for: Any) -> None:
    client = client_for(lead)
    keep(client, rated.project, page="items")
    answer = do(client, NamedView.objects.get(), do="share", until=until(3))
    assert answer.status_code == 400
    assert "who still rates must not see it" in answer.content.decode()


@pytest.mark.parametrize("day", ["", "soon", until(-1), until(400)])
def test_the_day_of_a_link_is_near(rated: Any, lead: Any, client_for: Any, day: str) -> None:
    client = client_for(lead)
    keep(client, rated.project)
    assert do(client, NamedView.objects.get(), do="share", until=day).status_code == 400
    assert not ViewLink.objects.exists()


def test_a_link_ends_with_its_day(linked: str) -> None:
    day = timezone.now() - datetime.timedelta(days=9)
    ViewLink.objects.update(made_at=day, expires_at=day + datetime.timedelta(days=1))
    answer = Client().get(linked)
    assert answer.status_code == 410
    text = answer.content.decode()
    assert "This link has ended" in text
    assert "Example" not in text  # the project is not named
    assert "severity" not in text
    assert Client().get(f"{linked}trend.json").status_code == 404


def test_the_day_that_was_chosen_is_told(
    rated: Any, lead: Any, project: Any, client_for: Any
) -> None:
    """Of a project east of UTC, whose midnight is another day there."""
    Project.objects.filter(pk=project.pk).update(time_zone="Asia/Tokyo")
    with time_machine.travel("2026-12-24T12:00:00Z", tick=False):
        client = client_for(lead)
        keep(client, project)
        answer = do(client, NamedView.objects.get(), do="share", until="2026-12-31")
        link = link_of(answer)
        day = (
            '<time datetime="2026-12-31T15:00:00+00:00" title="2027-01-01 00:00 Asia/Tokyo">'
            "2026-12-31</time>"
        )
        assert f"A link that ends after {day}" in answer.content.decode()
        assert f"to be read until {day}" in Client().get(link).content.decode()
    with time_machine.travel("2026-12-31T16:00:00Z", tick=False):
        client = client_for(lead)
        ended = client.get(f"/projects/{project.pk}/views/").content.decode()
        assert f"A link that ended after {day}" in ended
        assert f"It was made to be read until {day}" in Client().get(link).content.decode()


def test_a_lead_ends_a_link(linked: str, lead: Any, viewer: Any, client_for: Any) -> None:
    link = ViewLink.objects.get()
    address = f"/projects/{link.view.project_id}/views/links/{link.pk}/"
    assert client_for(viewer).post(address).status_code == 403
    assert Client().get(linked).status_code == 200
    for _twice in range(2):
        assert client_for(lead).post(address).status_code == 302
    answer = Client().get(linked)
    assert answer.status_code == 410
    assert "withdrawn" in answer.content.decode()
    assert TrailLine.objects.filter(what="view_link_revoked").count() == 1


def test_a_link_ends_with_its_view(linked: str, lead: Any, client_for: Any) -> None:
    do(client_for(lead), NamedView.objects.get(), do="delete")
    answer = Client().get(linked)
    assert answer.status_code == 404
    assert "This link leads nowhere" in answer.content.decode()


def test_another_lead_ends_no_link_of_ours(
    linked: str, stranger: Any, make_project: Any, client_for: Any
) -> None:
    other = make_project(name="Other")
    Member.objects.create(project=other, user=stranger, role=Member.Role.LEAD)
    link, view = ViewLink.objects.get(), NamedView.objects.get()
    client = client_for(stranger)
    assert client.post(f"/projects/{other.pk}/views/links/{link.pk}/").status_code == 404
    sent = {"do": "delete"}
    assert client.post(f"/projects/{other.pk}/views/{view.pk}/", sent).status_code == 404


def test_the_secret_is_kept_nowhere(linked: str, caplog: pytest.LogCaptureFixture) -> None:
    secret = linked.split("/")[-2]
    Client().get(linked)
    Client().get(f"{linked}nothing.json")
    assert secret not in caplog.text
    assert ViewLink.objects.get().digest != secret
    told = TrailLine.objects.filter(what__startswith="view_").values_list("what", "after")
    assert secret not in str(list(told))


def test_the_trail_tells_of_openings_once_an_hour(linked: str) -> None:
    for _time in range(3):
        Client().get(linked)
    opened = TrailLine.objects.filter(what="view_link_opened")
    assert opened.count() == 1
    ViewLink.objects.update(opened_at=timezone.now() - datetime.timedelta(hours=2))
    Client().get(linked)
    assert opened.count() == 2


# --- the page without what leads elsewhere


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ('<a href="/projects/1/">x</a>', "<span>x</span>"),
        ('<a href="#top">x</a>', '<a href="#top">x</a>'),
        ('<a class="button" href="/x"><b>x</b></a>y', "y"),
        ("<form action='/x'><input name=a><p>x</p></form>", "<p>x</p>"),
        ("<select><option>a</select>b", "b"),
        ("<button>a<button></button></button>b", "b"),
        ('<button popovertarget="p">?</button>', '<button popovertarget="p">?</button>'),
        ('<input form="f" /><a href="//evil" />x', "<span>x"),
        ('<p hx-get="/other/" hidden id="a&amp;b">x</p>', '<p hidden id="a&amp;b">x</p>'),
        ('<p hx-get="/s/k/">x</p>', '<p hx-get="/s/k/">x</p>'),
        ('<i data-chart="/projects/7/charts/trend.json?a=1"></i>', '<i data-chart="/s/k/trend.json"></i>'),
        ("<!DOCTYPE html>&lt;&#39;é<!-- c -->", "<!DOCTYPE html>&lt;&#39;é"),
        ('<svg><circle r="1" /><use href="#a" /></svg>', '<svg><circle r="1" /><use href="#a" /></svg>'),
    ],
)  # fmt: skip
def test_nothing_leads_elsewhere(given: str, left: str) -> None:
    assert remove_links(given, "/s/k/") == left
