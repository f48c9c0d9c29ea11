"""Saved views, and links that open one of them without an account."""

from __future__ import annotations

import datetime
import html
import re
from html.parser import HTMLParser
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from agreement_site.models import AuditLogEntry
from metrics import saved_views, tasks
from metrics.models import SavedView, ShareLink
from metrics.views.saved_views import SHARED_PAGES
from projects.models import Member, Project
from projects.services.projects import change_project
from quality.rater_status import recomputation as rater_recomputation
from tests import cast
from tests.cast import Cast

pytestmark = pytest.mark.django_db
TARGETS = {"href", "action", "formaction"} | {
    f"hx-{method}" for method in ("get", "post", "put", "patch", "delete")
}
LABELS = ("none", "minor", "major", "critical")
# Attributes through which a page links or sends to an address.
LINK_PATTERN = re.compile(
    r"""(?:href|action|formaction|hx-(?:get|post|put|patch|delete)|data-find)=["']([^"']*)["']"""
)


def create_ratings(setup: Cast) -> None:
    for item in range(12):
        for index, rater in enumerate("abc"):
            cast.rate(setup.question, f"i{item}", rater, LABELS[(item + (item % 5 == index)) % 4])
    tasks.sweep_all()


@pytest.fixture(scope="module")
def module_cast(cast_factory: Any) -> Cast:
    return cast_factory(create_ratings)


@pytest.fixture
def rated_question(question: Any) -> Any:
    return question


def save_view(client: Client, project: Project, page: str = "dashboard", **fields: str) -> Any:
    fields = {"page": page, "name": "My view", "query": "question=severity"} | fields
    return client.post(f"/projects/{project.pk}/views/", fields)


def change_view(client: Client, view: SavedView, **fields: str) -> Any:
    return client.post(f"/projects/{view.project_id}/views/{view.pk}/", fields)


def format_day_from_today(days: int) -> str:
    return (timezone.now().date() + datetime.timedelta(days=days)).isoformat()


def get_link(response: Any) -> str:
    match = re.search(r'id="made" value="http://testserver([^"]+)"', response.content.decode())
    assert match
    return match[1]


@pytest.fixture
def shared_link(rated_question: Any, lead: Any, client_for: Any) -> str:
    """Return the address of a shared link to the overview of all ratings."""
    client = client_for(lead)
    save_view(client, rated_question.project, query="question=severity&period=day")
    return get_link(
        change_view(client, SavedView.objects.get(), do="share", until=format_day_from_today(3))
    )


# --- saved views


def test_saved_view_is_visible_to_viewers(
    rated_question: Any, lead: Any, viewer: Any, client_for: Any
) -> None:
    address = f"/projects/{rated_question.project_id}/"
    page = client_for(lead).get(f"{address}?period=day&page=1").content.decode()
    match = re.search(r'name="query" value="([^"]*)"', page)
    assert match
    query = html.unescape(match[1])
    assert query == "question=severity&period=day"
    response = save_view(client_for(lead), rated_question.project, name=" By day ", query=query)
    assert response["Location"] == f"{address}?{query}"
    client = client_for(viewer)
    view_page = client.get(f"{address}?{query}").content.decode()
    menu_link = f'<a href="{address}?{html.escape(query)}" aria-current="true">By day</a>'
    assert menu_link in view_page
    assert 'name="query"' not in view_page
    assert "By day" not in client.get(f"{address}items/").content.decode()
    list_page = client.get(f"{address}views/").content.decode()
    assert "Question: Which severity? · Period: day" in list_page
    assert "<form" not in list_page.split("<main")[1].split("</main>")[0]
    search_page = client.get(
        "/search/", {"q": "by d", "project": rated_question.project_id}
    ).content.decode()
    assert "By day" in search_page


def test_annotator_sees_no_saved_view(rated_question: Any, annotator: Any, client_for: Any) -> None:
    client = client_for(annotator)
    assert client.get(f"/projects/{rated_question.project_id}/views/").status_code == 403
    saved_views.create_saved_view(
        project=rated_question.project, page="items", name="Flagged", query="", by=annotator
    )
    search_page = client.get(
        "/search/", {"q": "flag", "project": rated_question.project_id}
    ).content.decode()
    assert "Flagged" not in search_page


def test_viewer_cannot_change_saved_views(
    rated_question: Any, lead: Any, viewer: Any, client_for: Any
) -> None:
    assert save_view(client_for(viewer), rated_question.project).status_code == 403
    save_view(client_for(lead), rated_question.project)
    view = SavedView.objects.get()
    for action in ("rename", "share", "delete"):
        fields = {"do": action, "name": "Other", "until": format_day_from_today(3)}
        assert change_view(client_for(viewer), view, **fields).status_code == 403
    assert SavedView.objects.get().name == "My view"
    assert not ShareLink.objects.exists()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "  "}, "Enter 1 to 80 characters."),
        ({"name": "x" * 81}, "Enter 1 to 80 characters."),
        ({"page": "setup"}, "be saved as a view."),
        ({"query": "search=" + "x" * 1000}, "Too many filters"),
        ({"query": "from=tomorrow"}, "must be a date"),
        ({"name": "Twice"}, "This name already exists."),
    ],
)
def test_invalid_view_is_refused_with_reason(
    rated_question: Any, lead: Any, client_for: Any, fields: dict[str, str], message: str
) -> None:
    saved_views.create_saved_view(
        project=rated_question.project, page="items", name="Twice", query="", by=lead
    )
    response = save_view(client_for(lead), rated_question.project, **fields)
    assert response.status_code == 400
    assert message in response.content.decode()
    assert SavedView.objects.count() == 1


def test_project_has_limited_number_of_views(
    rated_question: Any, lead: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved_views, "MAX_VIEWS", 1)
    saved_views.create_saved_view(
        project=rated_question.project, page="items", name="One", query="", by=lead
    )
    with pytest.raises(saved_views.InvalidSavedView, match="At most 1 are allowed"):
        saved_views.create_saved_view(
            project=rated_question.project, page="items", name="Two", query="", by=lead
        )


def test_view_is_renamed_and_deleted(rated_question: Any, lead: Any, client_for: Any) -> None:
    client = client_for(lead)
    save_view(client, rated_question.project)
    view = SavedView.objects.get()
    assert change_view(client, view, do="rename", name="Other").status_code == 302
    assert change_view(client, view, do="rename", name="Other").status_code == 302  # its own name
    assert SavedView.objects.get().name == "Other"
    assert change_view(client, view, do="rename", name="").status_code == 400
    assert change_view(client, view, do="nothing").status_code == 400
    assert change_view(client, view, do="delete").status_code == 302
    assert not SavedView.objects.exists()


def test_view_about_gold_is_visible_to_leads_only(
    rated_question: Any, lead: Any, viewer: Any, client_for: Any
) -> None:
    query = "question=severity&state=gold"
    saved_views.create_saved_view(
        project=rated_question.project, page="items", name="Known", query=query, by=lead
    )
    address = f"/projects/{rated_question.project_id}/views/"
    assert "Known" in client_for(lead).get(address).content.decode()
    assert "Known" not in client_for(viewer).get(address).content.decode()


# --- links


def test_link_opens_one_page_and_leads_nowhere_else(shared_link: str) -> None:
    response = Client().get(shared_link)
    text = response.content.decode()
    assert response.status_code == 200
    assert "Which severity?" in text
    assert "36 ratings" in text
    addresses = [
        address
        for address in LINK_PATTERN.findall(text)
        if not address.startswith(("#", "/static/", "/bundles/"))
    ]
    assert set(addresses) <= {shared_link, "/language/"}, addresses
    assert "One point so far" in text  # all ratings are of one day, so there is no line
    assert re.findall(r"data-chart=\"([^\"]+)\"", text) == [f"{shared_link}pairs.json"]
    assert response["Referrer-Policy"] == "no-referrer"
    assert response["Cache-Control"] == "no-store, private"


def test_link_shows_no_single_item(shared_link: str) -> None:
    """People who still rate the items may have the link."""
    text = Client().get(shared_link).content.decode()
    assert 'id="disputes"' not in text
    assert "i4" not in re.sub(r"<[^>]+>", " ", text).split()


def test_link_shows_alert_without_link_to_it(
    shared_link: str, rated_question: Any, lead: Any, client_for: Any, make_alert: Any
) -> None:
    make_alert(rated_question, rated_question.project.raters.get(key="a"))
    statistics = f"/projects/{rated_question.project.pk}/statistics/"
    assert "Open alert" in client_for(lead).get(statistics).text
    text = Client().get(shared_link).content.decode()
    assert 'class="findings"' in text
    assert "Open alert" not in text


def test_link_shows_same_page_to_everybody(shared_link: str, lead: Any, client_for: Any) -> None:
    """Signing in or adding parameters to the address changes nothing."""
    anonymous_page = Client().get(shared_link).content.decode()
    lead_page = (
        client_for(lead).get(f"{shared_link}?period=month&coefficient=gwet_ac1").content.decode()
    )
    csrf_pattern = re.compile(r'name="csrfmiddlewaretoken" value="\w+"')
    assert csrf_pattern.sub("", lead_page) == csrf_pattern.sub("", anonymous_page)


def test_charts_of_link_contain_no_addresses(shared_link: str) -> None:
    for name in ("trend", "pairs"):
        response = Client().get(f"{shared_link}{name}.json?rater=a")
        assert response.status_code == 200
        assert response.json()["rows"]
        assert b"/projects/" not in response.content
    assert Client().get(f"{shared_link}rater-trend.json?rater=a").status_code == 404


def test_open_link_page_polls_for_updates(shared_link: str) -> None:
    version = re.search(
        r'"X-Shown-Version": "([^"]+)"', html.unescape(Client().get(shared_link).content.decode())
    )
    assert version
    assert Client().get(shared_link, headers={"X-Shown-Version": version[1]}).status_code == 204


def test_link_to_raters_page(rated_question: Any, lead: Any, client_for: Any) -> None:
    client = client_for(lead)
    rater_recomputation.recompute_question(rated_question.pk, at_once=True)
    save_view(client, rated_question.project, page="raters")
    raters_link = get_link(
        change_view(client, SavedView.objects.get(), do="share", until=format_day_from_today(0))
    )
    text = Client().get(raters_link).content.decode()
    assert "Kappa with peers" in text
    assert not [
        address for address in LINK_PATTERN.findall(text) if address.startswith("/projects/")
    ]
    main = text.split("<main")[1].split("</main>")[0]
    assert not re.search("<(input|select|form|a) ", main), main
    funnel = Client().get(f"{raters_link}funnel.json")
    assert funnel.json()["rows"]
    assert b"/projects/" not in funnel.content


def test_item_list_cannot_be_shared(rated_question: Any, lead: Any, client_for: Any) -> None:
    client = client_for(lead)
    save_view(client, rated_question.project, page="items")
    response = change_view(
        client, SavedView.objects.get(), do="share", until=format_day_from_today(3)
    )
    assert response.status_code == 400
    assert "Lists of others’ answers" in response.content.decode()


@pytest.mark.parametrize("day", ["", "soon", format_day_from_today(-1), format_day_from_today(400)])
def test_link_must_end_within_allowed_days(
    rated_question: Any, lead: Any, client_for: Any, day: str
) -> None:
    client = client_for(lead)
    save_view(client, rated_question.project)
    assert change_view(client, SavedView.objects.get(), do="share", until=day).status_code == 400
    assert not ShareLink.objects.exists()


def test_link_ends_after_its_last_day(shared_link: str) -> None:
    day = timezone.now() - datetime.timedelta(days=9)
    ShareLink.objects.update(created_at=day, expires_at=day + datetime.timedelta(days=1))
    response = Client().get(shared_link)
    assert response.status_code == 410
    text = response.content.decode()
    assert "This link has expired" in text
    assert "Example" not in text  # the project is not named
    assert "severity" not in text
    assert Client().get(f"{shared_link}trend.json").status_code == 404


def test_link_shows_chosen_end_day(
    rated_question: Any, lead: Any, project: Any, client_for: Any
) -> None:
    """The project lies east of UTC, where midnight falls on another UTC day."""
    Project.objects.filter(pk=project.pk).update(time_zone="Asia/Tokyo")
    with time_machine.travel("2026-12-24T12:00:00Z", tick=False):
        client = client_for(lead)
        save_view(client, project)
        response = change_view(client, SavedView.objects.get(), do="share", until="2026-12-31")
        view_link = get_link(response)
        day = (
            '<time datetime="2026-12-31T15:00:00+00:00" title="2027-01-01 00:00 Asia/Tokyo">'
            "2026-12-31</time>"
        )
        assert f"until {day}" in response.content.decode()
        assert f", available until {day}" in Client().get(view_link).content.decode()
    with time_machine.travel("2026-12-31T16:00:00Z", tick=False):
        client = client_for(lead)
        list_page = client.get(f"/projects/{project.pk}/views/").content.decode()
        assert f"until {day}" in list_page
        assert f"It expired after {day}" in Client().get(view_link).content.decode()


def test_lead_revokes_link(shared_link: str, lead: Any, viewer: Any, client_for: Any) -> None:
    view_link = ShareLink.objects.get()
    address = f"/projects/{view_link.view.project_id}/views/links/{view_link.pk}/"
    assert client_for(viewer).post(address).status_code == 403
    assert Client().get(shared_link).status_code == 200
    for _attempt in range(2):
        assert client_for(lead).post(address).status_code == 302
    response = Client().get(shared_link)
    assert response.status_code == 410
    assert "It was revoked." in response.content.decode()
    assert AuditLogEntry.objects.filter(action="share_link_revoked").count() == 1


def test_link_ends_when_view_is_deleted(shared_link: str, lead: Any, client_for: Any) -> None:
    change_view(client_for(lead), SavedView.objects.get(), do="delete")
    response = Client().get(shared_link)
    assert response.status_code == 404
    assert "This link doesn't work" in response.content.decode()


def test_lead_of_another_project_cannot_revoke_link(
    shared_link: str, stranger: Any, make_project: Any, client_for: Any
) -> None:
    other = make_project(name="Other")
    Member.objects.create(project=other, user=stranger, role=Member.Role.LEAD)
    view_link, view = ShareLink.objects.get(), SavedView.objects.get()
    client = client_for(stranger)
    assert client.post(f"/projects/{other.pk}/views/links/{view_link.pk}/").status_code == 404
    fields = {"do": "delete"}
    assert client.post(f"/projects/{other.pk}/views/{view.pk}/", fields).status_code == 404


def test_link_secret_is_stored_nowhere(shared_link: str, caplog: pytest.LogCaptureFixture) -> None:
    secret = shared_link.split("/")[-2]
    Client().get(shared_link)
    Client().get(f"{shared_link}nothing.json")
    assert secret not in caplog.text
    assert ShareLink.objects.get().digest != secret
    audit_entries = AuditLogEntry.objects.filter(action__startswith="view_").values_list(
        "action", "after"
    )
    assert secret not in str(list(audit_entries))


def test_audit_log_records_link_openings_once_an_hour(shared_link: str) -> None:
    for _attempt in range(3):
        Client().get(shared_link)
    opening_entries = AuditLogEntry.objects.filter(action="share_link_opened")
    assert opening_entries.count() == 1
    ShareLink.objects.update(opened_at=timezone.now() - datetime.timedelta(hours=2))
    Client().get(shared_link)
    assert opening_entries.count() == 2


# --- pages without links and forms


class ElementCollector(HTMLParser):
    """The elements of a page with their attributes, those of the language form left out."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.is_in_language_form = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "form" and attributes.get("id") == "language-form":
            self.is_in_language_form = True
        if not self.is_in_language_form and attributes.get("form") != "language-form":
            self.elements.append((tag, attributes))

    def handle_endtag(self, tag: str) -> None:
        self.is_in_language_form &= tag != "form"


def list_forbidden_elements(page: str, own_address: str) -> list[tuple[str, dict[str, str]]]:
    """Return links to anything but the page itself and static files, and controls of any kind.

    Buttons that open a help text or download a chart in the browser stay.
    """
    forbidden = []
    for tag, attributes in ElementCollector(page).elements:
        targets = [value for name, value in attributes.items() if name in TARGETS]
        is_control = tag in ("form", "input", "select", "textarea", "datalist")
        is_control |= tag == "button" and not {"popovertarget", "data-download"} & set(attributes)
        leads_away = any(
            not target.startswith(("#", "/static/", "/bundles/")) and target != own_address
            for target in targets
        )
        is_foreign_chart = not attributes.get("data-chart", own_address).startswith(own_address)
        if is_control or leads_away or is_foreign_chart:
            forbidden.append((tag, attributes))
    return forbidden


SHARED_QUERIES = {
    "dashboard": (
        "question=severity",
        "question=severity&period=day&weights=linear&heat_map=lowest&sort=-ratings",
        "question=severity&exclude=secretkey1",
        "question=severity&from=2001-01-01&to=2001-01-02",  # no ratings
    ),
    "raters": (
        "question=severity",
        "question=severity&sort=-ratings&show=paused",
        "question=severity&without=secretkey1",
        "question=severity&min_ratings=1000",  # no raters
    ),
}


@pytest.mark.parametrize("page", sorted(SHARED_QUERIES))
def test_every_shared_page_has_no_links_controls_or_names(
    page: str, rated_question: Any, lead: Any, client_for: Any, make_alert: Any
) -> None:
    project, client = rated_question.project, client_for(lead)
    names = list_rater_names(project)
    project.raters.filter(key="secretkey2").update(paused=True)
    change_project(project=project, by=lead, guidelines="First.")
    make_alert(rated_question, project.raters.get(key="secretkey0"))
    rater_recomputation.recompute_question(rated_question.pk, at_once=True)
    secret_words = {*names, *project.items.values_list("key", flat=True)}
    n_links = 0
    for number, query in enumerate(SHARED_QUERIES[page]):
        save_view(client, project, page=page, name=f"View {number}", query=query)
        view = SavedView.objects.get(name=f"View {number}")
        response = change_view(client, view, do="share", until=format_day_from_today(3))
        link = get_link(response)
        Client().get(link)
        tasks.sweep_all()
        for chart in ("", *(f"{name}.json" for name in SHARED_PAGES[page].charts)):
            response = Client().get(f"{link}{chart}")
            assert response.status_code == 200, (query, chart)
            content = response.content.decode()
            words = set(re.split(r"[^\w -]+|\s", content)) | set(re.findall(r"[\w-]+", content))
            assert not words & secret_words, (query, chart, words & secret_words)
            assert "/projects/" not in content, (query, chart)
            if not chart:
                assert list_forbidden_elements(content, link) == [], query
        own_page = client.get(f"/projects/{project.pk}/{'raters/' if page == 'raters' else ''}")
        n_links += len(list_forbidden_elements(own_page.content.decode(), ""))
    assert n_links > 100, "the same page has links and controls for members"


def test_shared_page_has_no_files(shared_link: str) -> None:
    page = Client().get(shared_link)
    names = re.findall(r'id="([a-z-]+-title)"', page.content.decode())
    n_entries = AuditLogEntry.objects.count()
    for name in names:
        response = Client().get(shared_link, {"csv": name})
        assert response["Content-Type"].startswith("text/html")
        assert response["Cache-Control"] == "no-store, private"
        assert response["X-Robots-Tag"] == "noindex, nofollow"
    assert names and AuditLogEntry.objects.count() == n_entries


@pytest.mark.parametrize("change", ["removed", "demoted", "closed", "deleted"])
def test_link_ends_with_who_created_it(
    shared_link: str, change: str, lead: Any, make_user: Any, client_for: Any
) -> None:
    project = SavedView.objects.get().project
    Member.objects.create(project=project, user=make_user("second"), role="lead")
    assert Client().get(shared_link).status_code == 200
    membership = Member.objects.filter(project=project, user=lead)
    if change == "removed":
        membership.delete()
    elif change == "demoted":
        membership.update(role="viewer")
    elif change == "closed":
        type(lead).objects.filter(pk=lead.pk).update(is_active=False)
    else:
        ShareLink.objects.update(created_by=None)  # what the deletion of an account does
    response = Client().get(shared_link)
    assert response.status_code == 410
    assert "Its creator isn’t a lead any more" in response.text
    assert Client().get(f"{shared_link}trend.json").status_code == 404
    second = type(lead).objects.get(username="second")
    page = client_for(second).get(f"/projects/{project.pk}/views/").text
    assert "Link of a former lead" in page


def test_site_can_forbid_links(shared_link: str, lead: Any, client_for: Any, settings: Any) -> None:
    settings.SHARE_LINKS = False
    view = SavedView.objects.get()
    assert Client().get(shared_link).status_code == 410
    page = client_for(lead).get(f"/projects/{view.project_id}/views/").text
    assert "Links are not allowed on this site" in page and 'value="share"' not in page
    response = change_view(client_for(lead), view, do="share", until=format_day_from_today(3))
    assert response.status_code == 400
    assert ShareLink.objects.count() == 1


def list_rater_names(project: Project) -> list[str]:
    """Give each rater a distinctive key and name, and return both."""
    names = []
    for index, rater in enumerate(project.raters.order_by("pk")):
        rater.key, rater.name = f"secretkey{index}", f"Secret Name {index}"
        rater.save()
        names += [rater.key, rater.name]
    return names


@pytest.mark.parametrize("page", ["dashboard", "raters"])
@pytest.mark.parametrize("shows_names", [False, True])
def test_names_are_hidden_unless_the_lead_shows_them(
    page: str, shows_names: bool, rated_question: Any, lead: Any, client_for: Any, make_alert: Any
) -> None:
    project, client = rated_question.project, client_for(lead)
    names = list_rater_names(project)
    rater = project.raters.order_by("pk").first()
    make_alert(rated_question, rater)
    rater_recomputation.recompute_question(rated_question.pk, at_once=True)
    save_view(client, project, page=page)
    fields = {"shows_names": "on"} if shows_names else {}
    response = change_view(
        client, SavedView.objects.get(), do="share", until=format_day_from_today(3), **fields
    )
    assert ("view this page, without names" in response.content.decode()) is not shows_names
    link = get_link(response)
    texts = [Client().get(link).content.decode()]
    for chart in ("trend", "pairs") if page == "dashboard" else ("funnel",):
        texts.append(Client().get(f"{link}{chart}.json").content.decode())
    visible_names = {name for name in names if any(name in text for text in texts)}
    if shows_names:
        assert visible_names
        return
    assert not visible_names
    assert "person-1" in "".join(texts)
    # The lead's own page has the names, also in the same process afterwards.
    own_page = client.get(f"/projects/{project.pk}/raters/").content.decode()
    assert "Secret Name 0" in own_page


def test_excluded_rater_has_a_number_on_the_link(
    rated_question: Any, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    list_rater_names(rated_question.project)
    save_view(client, rated_question.project, query="question=severity&exclude=secretkey1")
    link = get_link(
        change_view(client, SavedView.objects.get(), do="share", until=format_day_from_today(3))
    )
    Client().get(link)
    tasks.sweep_all()
    text = Client().get(link).content.decode()
    assert re.search(r"without person-\d", text)
    assert "secretkey" not in text
    assert "Secret Name" not in text


def test_view_that_searches_for_raters_has_no_link_without_names(
    rated_question: Any, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    save_view(client, rated_question.project, page="raters", query="question=severity&search=ann")
    view = SavedView.objects.get()
    response = change_view(client, view, do="share", until=format_day_from_today(3))
    assert response.status_code == 400
    assert "Remove the search for names" in response.content.decode()
    assert not ShareLink.objects.exists()
    response = change_view(
        client, view, do="share", until=format_day_from_today(3), shows_names="on"
    )
    assert response.status_code == 200
