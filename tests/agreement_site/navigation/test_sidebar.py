"""What stands around every page: where the rail leads by role, what waits, and other projects."""

from __future__ import annotations

import re

import pytest
from django.urls import get_resolver, reverse
from django.utils import timezone

from agreement_site.navigation import sidebar
from projects.models import Member
from ratings.models import Assignment

pytestmark = pytest.mark.django_db


def rail_of(page):
    """Words -> (address, whether it is the current one) of the rail."""
    nav = page.content.decode().split('<nav class="rail"')[1].split("</nav>")[0]
    found = re.findall(r'<a class="[^"]*" href="([^"]*)"([^>]*)>([^<]*)', nav)
    return {words.strip(): (url, "aria-current" in more) for url, more, words in found}


def test_each_role_is_led_to_pages_that_it_may_see(project, question, client_for, make_user):
    for role in Member.Role.values:
        user = make_user(f"a {role}")
        Member.objects.create(project=project, user=user, role=role)
        client = client_for(user)
        lines = sidebar.build_project_links(_as(project, role), "/")
        assert lines
        for line in lines:
            page = client.get(line.url)
            assert page.status_code == 200, (role, line.url)
            here = [url for url, current in rail_of(page).values() if current]
            assert here == [line.url], (role, line.url)
            assert (f'href="/projects/{project.pk}/alarms/"' in page.content.decode()) == (
                role != "annotator"
            )


def _as(project, role):
    project.role = role
    return project


def test_pages_beneath_belong_to_one_line():
    """A word beneath two places would light up the first of them only."""
    words = [word for place in sidebar.PROJECT_ENTRIES for word in place.child_paths]
    assert len(words) == len(set(words))
    routes = {
        str(pattern.pattern)
        for room in get_resolver().url_patterns
        if hasattr(room, "url_patterns")
        for pattern in room.url_patterns
    }
    first = {
        route.split("/")[2] for route in routes if route.startswith("projects/<int:project_id>/")
    }
    assert set(words) <= first, "no page begins so"


def test_what_waits_is_told_to_the_lead_alone(project, question, rate, client_for, lead, make_user):
    rate(question, "i1", "ann", "minor")
    Assignment.objects.create(
        item=project.items.get(),
        rater=project.raters.get(),
        state="skipped",
        skip_reason="unclear",
        closed_at=timezone.now(),
        leased_until=timezone.now(),
    )
    told = '<span class="visually-hidden"> skipped or flagged</span>'
    viewer = make_user("vera")
    Member.objects.create(project=project, user=viewer, role="viewer")
    address = f"/projects/{project.pk}/items/"
    assert told in client_for(lead).get(address).content.decode()
    assert told not in client_for(viewer).get(address).content.decode()


def test_the_switcher_names_own_projects_in_use(project, question, make_project, client_for, lead):
    names = {"Reviews": "lead", "Rated by me": "annotator", "Resting": "lead", "Another's": None}
    for name, role in names.items():
        other = make_project(name)
        if name == "Resting":
            other.archived_at = timezone.now()
            other.save()
        if role:
            Member.objects.create(project=other, user=lead, role=role)
    page = client_for(lead).get(f"/projects/{project.pk}/people/").content.decode()
    menu = page.split('id="switcher"')[1].split("</nav>")[0]
    found = {name: url for url, name in re.findall(r'<a href="([^"]*)">([^<]*)</a>', menu)}
    assert sorted(found) == ["Rated by me", "Reviews"]
    assert found["Rated by me"].endswith("/rate/") and not found["Reviews"].endswith("/rate/")


def test_who_only_rates_is_not_led_to_the_raters_of_all_projects(project, client_for, make_user):
    """They are those of projects that one leads: an annotator found an empty page."""
    user = make_user("anna")
    words = "Raters of all projects"
    assert words in rail_of(client_for(user).get(reverse("all_words")))
    Member.objects.create(project=project, user=user, role=Member.Role.ANNOTATOR)
    assert words not in rail_of(client_for(user).get(reverse("all_words")))
    Member.objects.filter(user=user).update(role=Member.Role.VIEWER)
    assert words in rail_of(client_for(user).get(reverse("all_words")))
