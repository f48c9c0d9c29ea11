"""Tests of the sidebar and header: links by role, inbox counts, and other projects."""

from __future__ import annotations

import re

import pytest
from django.urls import get_resolver, reverse
from django.utils import timezone

from agreement_site.navigation import sidebar
from projects.models import Member
from quality.models import ItemLabel
from ratings.models import Assignment

pytestmark = pytest.mark.django_db


def parse_nav(page, css_class):
    """Return label -> (address, whether it is the current one) of the links of a navigation."""
    text = page.content.decode()
    if f'<nav class="{css_class}"' not in text:
        return {}
    nav = text.split(f'<nav class="{css_class}"')[1].split("</nav>")[0]
    links = re.findall(r'<a(?: class="[^"]*")? href="([^"]*)"([^>]*)>([^<]*)', nav)
    return {words.strip(): (url, "aria-current" in attributes) for url, attributes, words in links}


SEVEN = ["Overview", "Review", "Items", "Raters", "Guidelines", "Reports", "Settings"]
ENTRIES_BY_ROLE = {
    "lead": SEVEN,
    "viewer": SEVEN[:-1],
    "adjudicator": SEVEN[:-1],
    "annotator": ["My ratings", "Guidelines"],
}


def test_every_role_opens_its_entries_and_tabs(project, question, client_for, make_user):
    """Each entry and each tab is a page of the role, and marks itself."""
    assert set(ENTRIES_BY_ROLE) == set(Member.Role.values)
    for role, labels in ENTRIES_BY_ROLE.items():
        user = make_user(f"a {role}")
        Member.objects.create(project=project, user=user, role=role)
        client = client_for(user)
        project.role = role
        assert [link.label for link in sidebar.list_project_pages(project)]
        for entry, tabs in sidebar.iter_permitted_entries(role):
            entry_url = reverse(tabs[0].url_name, args=[project.pk])
            for tab in tabs:
                url = reverse(tab.url_name, args=[project.pk])
                page = client.get(url)
                assert page.status_code == 200, (role, url)
                assert list(parse_nav(page, "rail")) == labels
                entries = parse_nav(page, "rail")
                assert [link for link, current in entries.values() if current] == [entry_url]
                shown_tabs = parse_nav(page, "tabs")
                if len(tabs) == 1:
                    assert not shown_tabs
                else:
                    assert shown_tabs == {
                        str(other.label): (
                            reverse(other.url_name, args=[project.pk]),
                            other is tab,
                        )
                        for other in tabs
                    }
            text = page.content.decode()
            assert (f'href="/projects/{project.pk}/alerts/"' in text) == (role != "annotator")
            has_rate_button = f'href="/projects/{project.pk}/rate/" data-go="n"' in text
            assert has_rate_button == (role in ("lead", "annotator")), (role, entry.label)


@pytest.mark.parametrize(
    ("path", "entry", "tab"),
    [
        ("", "Overview", None),
        ("pairs/", "Overview", None),
        ("alerts/7/", "Review", "alerts"),
        ("alerts/settings/", "Settings", "alert_settings"),
        ("labels/confusions/", "Items", "labels"),
        ("labels/rules/", "Settings", "label_rules"),
        ("items/a/b/", "Items", "items"),
        ("items/settings/webhooks/", "Items", "items"),
        ("settings/questions/severity/", "Settings", "questions_settings"),
        ("settings/webhooks/3/", "Settings", "webhooks"),
        ("coefficients/headline/", "Reports", "coefficients"),
        ("gold/raters/3/", "Raters", "gold"),
        ("no-such-page/", None, None),
    ],
)
def test_subpage_belongs_to_the_tab_with_the_longest_path(project, path, entry, tab):
    project.role = "lead"
    navigation = sidebar.build_project_navigation(project, f"/projects/{project.pk}/{path}")
    current = navigation.current_entry
    assert (current and str(current.label)) == entry
    urls = [link.url for link in navigation.tabs if link.is_current]
    assert urls == ([reverse(tab, args=[project.pk])] if tab else [])


def test_tabs_keep_the_question(project, question, client_for, lead):
    page = client_for(lead).get(f"/projects/{project.pk}/labels/?question={question.key}")
    tabs = parse_nav(page, "tabs")
    assert tabs["Items"][0] == f"/projects/{project.pk}/items/?question={question.key}"
    assert parse_nav(page, "rail")["Raters"][0] == f"/projects/{project.pk}/raters/"


def test_paths_belong_to_one_tab_and_exist():
    """A path of two tabs would mark only one of them."""
    paths = [path for entry in sidebar.PROJECT_ENTRIES for tab in entry.tabs for path in tab.paths]
    assert len(paths) == len(set(paths))
    shortcuts = [entry.shortcut for entry in sidebar.PROJECT_ENTRIES] + [sidebar.RATE_SHORTCUT]
    assert len(shortcuts) == len(set(shortcuts)) and "g" not in shortcuts
    routes = [
        str(pattern.pattern).removeprefix("projects/<int:project_id>/")
        for app_resolver in get_resolver().url_patterns
        if hasattr(app_resolver, "url_patterns")
        for pattern in app_resolver.url_patterns
        if str(pattern.pattern).startswith("projects/<int:project_id>/")
    ]
    for path in paths:
        assert any(route.startswith(f"{path}/") or not path for route in routes), path


def test_counts_are_shown_to_those_who_can_act(
    project, question, rate, client_for, lead, make_user, make_alert
):
    rate(question, "i1", "ann", "minor")
    rater, item = project.raters.get(), project.items.get()
    Assignment.objects.create(
        item=item,
        rater=rater,
        state="skipped",
        skip_reason="unclear",
        closed_at=timezone.now(),
        leased_until=timezone.now(),
    )
    make_alert(question, rater)
    ItemLabel.objects.create(
        question=question,
        item=item,
        code=0,
        source="consensus",
        doubt=0.4,
        n_ratings=2,
        computed_at=timezone.now(),
    )
    address = f"/projects/{project.pk}/alerts/"
    expected_counts = {
        "lead": {"Review": "3", "Uncertain items": "1", "Alerts": "1", "Skipped and flagged": "1"},
        "adjudicator": {"Review": "1", "Uncertain items": "1"},
        "viewer": {},
    }
    for role, counts in expected_counts.items():
        user = make_user(f"a {role}")
        Member.objects.create(project=project, user=user, role=role)
        page = client_for(user).get(address).content.decode()
        shown_counts = re.findall(r">([^<>]+) <span class=\"rail__count\">(\d+)", page)
        assert dict(shown_counts) == counts, role


def test_project_switcher_lists_own_active_projects(
    project, question, make_project, client_for, lead
):
    names = {"Reviews": "lead", "Rated by me": "annotator", "Resting": "lead", "Another's": None}
    for name, role in names.items():
        other_project = make_project(name)
        if name == "Resting":
            other_project.archived_at = timezone.now()
            other_project.save()
        if role:
            Member.objects.create(project=other_project, user=lead, role=role)
    page = client_for(lead).get(f"/projects/{project.pk}/people/").content.decode()
    menu = page.split('id="switcher"')[1].split("</nav>")[0]
    links = {name: url for url, name in re.findall(r'<a href="([^"]*)">([^<]*)</a>', menu)}
    assert sorted(links) == ["Rated by me", "Reviews"]
    assert links["Rated by me"].endswith("/rate/") and not links["Reviews"].endswith("/rate/")


def test_annotator_has_no_link_to_the_raters_of_all_projects(project, client_for, make_user):
    """The page lists raters of projects that the user leads or views: theirs would be empty."""
    user = make_user("anna")
    words, glossary = "Raters", reverse("glossary")
    assert words in parse_nav(client_for(user).get(glossary), "rail")
    Member.objects.create(project=project, user=user, role=Member.Role.ANNOTATOR)
    assert words not in parse_nav(client_for(user).get(glossary), "rail")
    Member.objects.filter(user=user).update(role=Member.Role.VIEWER)
    assert words in parse_nav(client_for(user).get(glossary), "rail")


def test_user_menu_leads_to_the_pages_of_the_site(client_for, make_user, admin):
    def list_labels(user):
        page = client_for(user).get(reverse("glossary"))
        menu = page.content.decode().split('id="person"')[1].split("</nav>")[0]
        return re.findall(r'<a href="[^"]*"[^>]*>([^<]*)</a>', menu)

    assert list_labels(make_user("anna")) == ["Account", "Glossary"]
    assert list_labels(admin) == [
        "Account",
        "Glossary",
        "System status",
        "Audit log",
        "Webhooks",
        "Access review",
        "Admin",
    ]
