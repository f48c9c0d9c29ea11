"""Tests of the sidebar and header: links by role, inbox counts, and other projects."""

from __future__ import annotations

import re

import pytest
from django.urls import get_resolver, reverse
from django.utils import timezone

from agreement_site.navigation import sidebar
from projects.models import Member
from ratings.models import Assignment

pytestmark = pytest.mark.django_db


def parse_sidebar(page):
    """Return label -> (address, whether it is the current one) of the sidebar links."""
    nav = page.content.decode().split('<nav class="rail"')[1].split("</nav>")[0]
    links = re.findall(r'<a class="[^"]*" href="([^"]*)"([^>]*)>([^<]*)', nav)
    return {words.strip(): (url, "aria-current" in attributes) for url, attributes, words in links}


def test_sidebar_links_are_allowed_for_each_role(project, question, client_for, make_user):
    for role in Member.Role.values:
        user = make_user(f"a {role}")
        Member.objects.create(project=project, user=user, role=role)
        client = client_for(user)
        links = sidebar.build_project_links(_with_role(project, role), "/")
        assert links
        for link in links:
            page = client.get(link.url)
            assert page.status_code == 200, (role, link.url)
            current_urls = [url for url, current in parse_sidebar(page).values() if current]
            assert current_urls == [link.url], (role, link.url)
            assert (f'href="/projects/{project.pk}/alerts/"' in page.content.decode()) == (
                role != "annotator"
            )


def _with_role(project, role):
    project.role = role
    return project


def test_subpages_belong_to_one_sidebar_entry():
    """A path segment of two entries would highlight only the first of them."""
    segments = [segment for entry in sidebar.PROJECT_ENTRIES for segment in entry.child_paths]
    assert len(segments) == len(set(segments))
    routes = {
        str(pattern.pattern)
        for app_resolver in get_resolver().url_patterns
        if hasattr(app_resolver, "url_patterns")
        for pattern in app_resolver.url_patterns
    }
    first_segments = {
        route.split("/")[2] for route in routes if route.startswith("projects/<int:project_id>/")
    }
    assert set(segments) <= first_segments, "no page begins so"


def test_inbox_count_is_shown_to_the_lead_only(
    project, question, rate, client_for, lead, make_user
):
    rate(question, "i1", "ann", "minor")
    Assignment.objects.create(
        item=project.items.get(),
        rater=project.raters.get(),
        state="skipped",
        skip_reason="unclear",
        closed_at=timezone.now(),
        leased_until=timezone.now(),
    )
    inbox_label = '<span class="visually-hidden"> skipped or flagged</span>'
    viewer = make_user("vera")
    Member.objects.create(project=project, user=viewer, role="viewer")
    address = f"/projects/{project.pk}/items/"
    assert inbox_label in client_for(lead).get(address).content.decode()
    assert inbox_label not in client_for(viewer).get(address).content.decode()


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
    words = "Raters of all projects"
    assert words in parse_sidebar(client_for(user).get(reverse("glossary")))
    Member.objects.create(project=project, user=user, role=Member.Role.ANNOTATOR)
    assert words not in parse_sidebar(client_for(user).get(reverse("glossary")))
    Member.objects.filter(user=user).update(role=Member.Role.VIEWER)
    assert words in parse_sidebar(client_for(user).get(reverse("glossary")))
