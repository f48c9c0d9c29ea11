"""Access to the settings and people pages: the same rules for every page."""

from __future__ import annotations

import pytest
from django.utils import timezone

pytestmark = pytest.mark.django_db

PAGES = {  # path below the project -> its HTTP methods
    "settings/": ("get", "post"),
    "settings/new-question/": ("get", "post"),
    "settings/questions/": ("get",),
    "settings/guidelines/": ("get", "post"),
    "settings/checks/": ("get", "post"),
    "archive/": ("get", "post"),
    "settings/questions/severity/": ("get", "post"),
    "settings/questions/severity/weights/": ("post",),
    "settings/questions/severity/weights/check/": ("post",),
    "people/": ("get",),
    "people/add/": ("post",),
    "people/members/{member}/link/": ("post",),
    "people/action/": ("post",),
    "people/undo/": ("post",),
    "people/offers/{offer}/withdraw/": ("post",),
    "people/raters/{rater}/": ("get", "post"),
    "people/pseudonyms/": ("get",),
    "people/pseudonyms/set/": ("post",),
    "people/pseudonyms/disclose/": ("post",),
}


@pytest.fixture
def address(project):
    """Return a function that builds the full address of one of PAGES."""
    offer = project.member_offers.create(username="x", role="viewer", created_at=timezone.now())
    ids = {
        "offer": offer.pk,
        "member": project.members.get(role="viewer").pk,
        "rater": project.raters.get().pk,
    }
    return lambda page, project_id=None: (
        f"/projects/{project_id or project.pk}/{page.format(**ids)}"
    )


@pytest.mark.parametrize(("page", "verbs"), PAGES.items())
def test_only_leads_open_settings_and_people_pages(
    page, verbs, address, client, client_for, lead, annotator, viewer, stranger
):
    for verb in verbs:
        assert getattr(client, verb)(address(page))["Location"].startswith("/sign-in/?next=")
        assert getattr(client_for(stranger), verb)(address(page)).status_code == 404
        assert getattr(client_for(lead), verb)(address(page, 999_999)).status_code == 404
        for user in (annotator, viewer):
            assert getattr(client_for(user), verb)(address(page)).status_code == 403


@pytest.mark.parametrize(("page", "verbs"), PAGES.items())
def test_unsupported_methods_are_rejected(page, verbs, address, client_for, lead):
    for verb in {"get", "post", "put", "delete"} - set(verbs):
        assert getattr(client_for(lead), verb)(address(page)).status_code == 405


@pytest.mark.parametrize("page", [page for page, verbs in PAGES.items() if "get" in verbs])
def test_a_lead_and_a_superuser_see_the_page(page, address, client_for, lead, admin):
    for user in (lead, admin):
        assert client_for(user).get(address(page)).status_code == 200


@pytest.mark.parametrize(
    "page",
    [
        "settings/questions/nothing/",
        "people/members/999999/link/",
        "people/offers/999999/withdraw/",
        "people/raters/999999/",
    ],
)
def test_missing_objects_are_404(page, address, client_for, lead):
    verb = "get" if page.startswith("settings") else "post"
    assert getattr(client_for(lead), verb)(address(page)).status_code == 404


@pytest.mark.parametrize(
    "page",
    [
        "people/members/{member}/link/",
        "people/offers/{offer}/withdraw/",
        "people/raters/{rater}/",
    ],
)
def test_people_of_another_project_are_not_found(page, address, client_for, make_project, stranger):
    from projects.models import Member

    own_project = make_project("Own")
    Member.objects.create(project=own_project, user=stranger, role="lead")
    assert client_for(stranger).post(address(page, own_project.pk)).status_code == 404


@pytest.mark.parametrize(
    "person", ["m{member}", "r{rater}", "m{member}r{rater}", "m999999", "x", ""]
)
def test_actions_on_people_of_another_project_are_rejected(
    person, address, project, client_for, make_project, stranger, viewer
):
    from projects.models import Member

    own_project = make_project("Own")
    Member.objects.create(project=own_project, user=stranger, role="lead")
    ids = {"member": project.members.get(user=viewer).pk, "rater": project.raters.get().pk}
    client = client_for(stranger)
    for action in ("remove", "pause", "role", "write"):
        form_data = {"do": action, "role": "lead", "person": person.format(**ids)}
        assert client.post(address("people/action/", own_project.pk), form_data).status_code == 400
    assert project.members.get(user=viewer).role == "viewer"
    assert not project.raters.get().paused


@pytest.mark.parametrize("page", ["/projects/new/", "/tokens/", "/password/"])
def test_personal_pages_need_sign_in(page, client, client_for, lead):
    assert client.get(page)["Location"] == f"/sign-in/?next={page}"
    assert client_for(lead).get(page).status_code == 200
    assert client_for(lead).delete(page).status_code == 405


def test_form_without_csrf_token_is_rejected(project, lead):
    from django.test import Client

    client = Client(enforce_csrf_checks=True)
    client.force_login(lead)
    assert client.post(f"/projects/{project.pk}/settings/", {"name": "Stolen"}).status_code == 403


@pytest.mark.parametrize(
    "page", ["settings/questions/%00/", "people/?q=%00&page=x", "people/?page=-3"]
)
def test_malformed_addresses_do_not_crash(page, address, client_for, lead):
    assert client_for(lead).get(address(page)).status_code in (200, 404)


def test_huge_row_count_does_not_crash(client_for, lead):
    data = {"c-TOTAL_FORMS": "9" * 5000, "c-INITIAL_FORMS": "0", "add_row": "1"}
    assert client_for(lead).post("/projects/new/", data).status_code in (200, 400)
    del data["add_row"]
    assert client_for(lead).post("/projects/new/", data).status_code == 400
