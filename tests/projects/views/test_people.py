"""Pages of members, invitations, raters and tokens."""

from __future__ import annotations

import datetime
import html
import re

import pytest
import time_machine
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from metrics.jobs.question_updates import update_question
from metrics.models import RaterResult
from projects.models import ApiToken, Member, Question, Rater
from projects.services import pseudonyms, tokens
from projects.views.tokens import MAX_TOKENS
from tests.cast import PASSWORD, make_project

pytestmark = pytest.mark.django_db


def get_text(response):
    return html.unescape(response.content.decode())


@pytest.fixture
def post_people(client_for, lead, project):
    client = client_for(lead)
    return lambda path="", data=None, **extra: client.post(
        f"/projects/{project.pk}/people/{path}", data or {}, **extra
    )


def get_member(project, name):
    return project.members.get(user__username=name)


def get_selection_value(project, name):
    """Return the value that the checkbox of a member sends."""
    member = get_member(project, name)
    rater = project.raters.filter(user=member.user).first()
    return f"m{member.pk}" + (f"r{rater.pk}" if rater else "")


def test_account_known_to_the_lead_is_added(post_people, project, colleague):
    response = post_people(
        "add/", {"username": "stranger", "role": "viewer", "account": "existing"}
    )
    assert response.status_code == 302
    assert get_member(project, "stranger").role == "viewer"
    assert not project.raters.filter(user=colleague).exists()


def test_an_annotator_becomes_a_rater(post_people, project, colleague):
    post_people("add/", {"username": "stranger", "role": "annotator", "account": "existing"})
    assert project.raters.get(user=colleague).key == "stranger"


def test_annotator_is_linked_to_the_free_rater_of_the_same_key(post_people, project, colleague):
    imported = Rater.objects.create(project=project, key="stranger")
    post_people("add/", {"username": "stranger", "role": "annotator", "account": "existing"})
    imported.refresh_from_db()
    assert imported.user == colleague


def test_annotator_is_not_linked_to_a_model_of_the_same_key(
    post_people, project, colleague, viewer
):
    Rater.objects.create(project=project, key="stranger", kind="model")
    post_people("add/", {"username": "stranger", "role": "annotator", "account": "existing"})
    assert project.raters.get(user=colleague).key == "stranger-2"


def get_invitation_link(response):
    match = re.search(r'value="http://testserver(/invitations/[^"]+)"', get_text(response))
    assert match
    return match[1]


def test_a_new_account_gets_a_link_that_is_shown_once(post_people, project, client_for, lead):
    response = post_people("add/", {"username": "newcomer", "role": "annotator", "account": "new"})
    link = get_invitation_link(response)
    assert response["Cache-Control"].startswith("max-age=0, no-cache, no-store")
    assert "/invitations/" not in get_text(client_for(lead).get(f"/projects/{project.pk}/people/"))
    assert not User.objects.get(username="newcomer").has_usable_password()
    guest = Client()
    form = guest.get(link, follow=True).redirect_chain[-1][0]
    guest.post(form, {"new_password1": "a fine long secret", "new_password2": "a fine long secret"})
    assert guest.session["_auth_user_id"] == str(User.objects.get(username="newcomer").pk)
    assert project.raters.filter(key="newcomer", user__username="newcomer").exists()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            {"username": "annotator", "role": "viewer", "account": "existing"},
            "is already a member",
        ),
        ({"username": "annotator", "role": "viewer", "account": "new"}, "already exists"),
        # Cyrillic lookalikes: one letter among Latin ones, and a whole name like an existing one.
        ({"username": "st\u043ene", "role": "viewer", "account": "new"}, "Looks like another name"),
        (
            {"username": "\u0441\u043e\u0441\u043e", "role": "viewer", "account": "new"},
            "Looks like another name",
        ),
        ({"username": "two words", "role": "viewer", "account": "new"}, "Enter a valid username"),
        ({"username": "", "role": "viewer", "account": "new"}, "This field is required"),
        (
            {"username": "other", "role": "king", "account": "new"},
            "king is not one of the available choices",
        ),
    ],
)
def test_invalid_people_are_rejected_and_change_nothing(post_people, project, data, message):
    User.objects.create(username="coco")
    before = (User.objects.count(), Member.objects.count(), Rater.objects.count())
    response = post_people("add/", data)
    assert response.status_code == 400
    assert message in get_text(response)
    assert (User.objects.count(), Member.objects.count(), Rater.objects.count()) == before


def test_names_of_other_alphabets_are_accepted(post_people):
    for name in (
        "\u0430\u043d\u043d\u0430",
        "\u0438\u0432\u0430\u043d-2",
        "zo\u00eb",
        "\u6807\u6ce8",
    ):
        post_people("add/", {"username": name, "role": "viewer", "account": "new"})
        assert User.objects.filter(username=name).exists()


def test_bulk_invitation_invites_all_or_nobody(post_people, project, stranger):
    """Each person gets a link of their own; the error names each person that cannot be invited."""
    form_data = {"several-names": "amy\n\nstranger\na b", "several-role": "annotator"}
    response = post_people("invite/", form_data)
    assert response.status_code == 400
    text = get_text(response)
    assert "stranger: This name already exists." in text
    assert "a b:" in text
    assert not User.objects.filter(username="amy").exists()
    text = get_text(post_people("invite/", {**form_data, "several-names": "amy\r\nbob\r\n"}))
    links = re.findall(r"(amy|bob)\t(http://testserver/invitations/\S+)", text)
    assert [name for name, _link in links] == ["amy", "bob"]
    assert Client().get(links[0][1], follow=True).status_code == 200
    assert set(project.raters.values_list("key", flat=True)) == {"ann", "amy", "bob"}
    too_many_names = "\n".join(f"n{number}" for number in range(101))
    assert post_people("invite/", {**form_data, "several-names": too_many_names}).status_code == 400


def test_bulk_invitation_adds_known_accounts_directly(post_people, project, lead, stranger):
    other_project = make_project("Elsewhere")
    Member.objects.create(project=other_project, user=lead, role="lead")
    for user in (stranger, User.objects.create_user("fresh")):
        Member.objects.create(project=other_project, user=user, role="annotator")
    form_data = {"several-names": "amy\nstranger\nfresh", "several-role": "annotator"}
    text = get_text(post_people("invite/", form_data))
    assert re.findall(r"(\w+)\thttp", text) == ["amy", "fresh"]  # "fresh" has no password yet
    assert "Added from existing accounts: stranger." in text
    assert set(project.raters.values_list("key", flat=True)) == {"ann", "amy", "stranger", "fresh"}
    second_text = get_text(post_people("invite/", {**form_data, "several-names": "zoe\nstranger"}))
    assert "stranger: “stranger” is already a member." in second_text
    duplicate_response = post_people("invite/", {**form_data, "several-names": "zoe\nzed\nzoe"})
    assert duplicate_response.status_code == 400
    assert "Duplicate names: zoe." in get_text(duplicate_response)
    assert not User.objects.filter(username="zoe").exists()


def test_a_link_is_renewed_only_while_no_password_is_set(post_people, project, viewer):
    post_people("add/", {"username": "newcomer", "role": "viewer", "account": "new"})
    assert get_invitation_link(post_people(f"members/{get_member(project, 'newcomer').pk}/link/"))
    response = post_people(f"members/{get_member(project, 'viewer').pk}/link/", follow=True)
    assert "/invitations/" not in get_text(response)
    assert "has a password" in get_text(response)


def test_no_new_link_for_an_account_shared_with_other_leads(
    post_people, project, make_project, stranger
):
    post_people("add/", {"username": "newcomer", "role": "viewer", "account": "new"})
    other_project = make_project("Other")
    Member.objects.create(project=other_project, user=stranger, role="lead")
    Member.objects.create(
        project=other_project, user=User.objects.get(username="newcomer"), role="viewer"
    )
    response = post_people(f"members/{get_member(project, 'newcomer').pk}/link/", follow=True)
    assert "or another lead" in get_text(response)


def test_last_lead_cannot_be_removed(post_people, project):
    selection = [get_selection_value(project, name) for name in ("annotator", "lead")]
    for data in ({"do": "remove"}, {"do": "role", "role": "viewer"}):
        assert "Make another member a lead first" in get_text(
            post_people("action/", data | {"person": selection}, follow=True)
        )
    assert get_member(project, "lead").role == "lead"
    assert get_member(project, "annotator").role == "annotator"  # all or none are changed


def test_a_lead_may_leave_once_there_is_another(post_people, project):
    post_people(
        "action/", {"do": "role", "role": "lead", "person": get_selection_value(project, "viewer")}
    )
    response = post_people(
        "action/", {"do": "remove", "person": get_selection_value(project, "lead")}
    )
    assert response["Location"] == "/"
    assert not project.members.filter(user__username="lead").exists()


def test_role_is_changed_and_unknown_roles_are_rejected(post_people, project):
    form_data = {
        "do": "role",
        "role": "annotator",
        "person": get_selection_value(project, "viewer"),
    }
    post_people("action/", form_data)
    assert get_member(project, "viewer").role == "annotator"
    assert project.raters.filter(user__username="viewer").exists()
    for role in ("king", ""):
        response = post_people("action/", form_data | {"role": role}, follow=True)
        assert "Use one of lead, annotator, viewer" in get_text(response)


def test_removed_member_loses_access_and_ratings_stay(
    post_people, project, question, rate, client_for, annotator
):
    rate(question, "i1", "ann", "minor")
    client = client_for(annotator)
    page = f"/projects/{project.pk}/people/"
    lead = client_for(project.members.get(role="lead").user)
    active_cell = re.compile(r"active\s*</td>")
    page_text = lead.get(page).text
    assert "not a member" not in page_text and active_cell.search(page_text)
    post_people("action/", {"do": "remove", "person": get_selection_value(project, "annotator")})
    assert client.get(page).status_code == 404
    assert question.ratings.count() == 1
    page_text = lead.get(page).text
    assert "not a member" in page_text and not active_cell.search(page_text)


def test_a_rater_is_paused_and_resumed(post_people, project):
    rater = project.raters.get()
    for action in ("pause", "resume"):
        post_people("action/", {"do": action, "person": f"r{rater.pk}"})
        rater.refresh_from_db()
        assert rater.paused == (action == "pause")


def get_undo_value(response):
    """Return the value that the undo button sends, or None without such a button."""
    match = re.search(r'name="undo" value="([^"]+)"', response.text)
    return html.unescape(match[1]) if match else None


def test_undo_restores_removed_members_unchanged(post_people, project, client_for, annotator, lead):
    Member.objects.filter(user=annotator).update(starred=True)
    selection = [get_selection_value(project, name) for name in ("annotator", "viewer")]
    response = post_people(
        "action/", {"do": "remove", "person": selection, "passed": "q=n&page=1&x=2"}, follow=True
    )
    assert "Removed: annotator, viewer. Their ratings are kept." in get_text(response)
    assert response.redirect_chain[-1][0].startswith(
        f"/projects/{project.pk}/people/?q=n&page=1&undo="
    )
    assert set(project.members.values_list("user__username", flat=True)) == {"lead"}
    assert "Undone." in get_text(
        post_people("undo/", {"undo": get_undo_value(response)}, follow=True)
    )
    restored_members = project.members.exclude(user=lead).order_by("user__username")
    restored_values = [
        (member.user.username, member.role, member.starred) for member in restored_members
    ]
    assert restored_values == [("annotator", "annotator", True), ("viewer", "viewer", False)]
    assert project.raters.get().user == annotator
    # A second undo changes nothing.
    assert "Undone." in get_text(
        post_people("undo/", {"undo": get_undo_value(response)}, follow=True)
    )
    assert project.members.count() == 3


@pytest.mark.parametrize(
    ("form_data", "expected"),
    [({"do": "pause"}, ("annotator", True)), ({"do": "role", "role": "viewer"}, ("viewer", False))],
)
def test_undo_restores_role_and_pause(post_people, project, form_data, expected):
    def get_state():
        return (get_member(project, "annotator").role, project.raters.get().paused)

    response = post_people(
        "action/", form_data | {"person": get_selection_value(project, "annotator")}, follow=True
    )
    assert get_state() == expected
    post_people("undo/", {"undo": get_undo_value(response)})
    assert get_state() == ("annotator", False)


def test_undo_is_limited_to_its_author_project_and_time(
    post_people, project, client_for, admin, make_project, lead
):
    response = post_people(
        "action/", {"do": "remove", "person": get_selection_value(project, "viewer")}, follow=True
    )
    undo = {"undo": get_undo_value(response)}
    other_project = make_project("Elsewhere")
    Member.objects.create(project=other_project, user=lead, role="lead")
    path = "/projects/{}/people/undo/"
    for client, project_id in (
        (client_for(admin), project.pk),
        (client_for(lead), other_project.pk),
    ):
        undo_response = client.post(path.format(project_id), undo, follow=True)
        assert "Too late to undo this" in get_text(undo_response)
    for invalid_value in ("", "x", undo["undo"] + "x"):
        undo_response = post_people("undo/", {"undo": invalid_value}, follow=True)
        assert "Too late to undo this" in get_text(undo_response)
    with time_machine.travel(timezone.now() + datetime.timedelta(hours=2), tick=False):
        client = client_for(lead)
        undo_response = client.post(path.format(project.pk), undo, follow=True)
        assert "Too late to undo this" in get_text(undo_response)
        assert get_undo_value(client.get(f"/projects/{project.pk}/people/", undo)) is None
    assert not project.members.filter(user__username="viewer").exists()


def test_actions_on_unsuitable_people_show_a_message(post_people, project):
    viewer_value, rater = (
        get_selection_value(project, "viewer"),
        Rater.objects.create(project=project, key="r7"),
    )
    for form_data, message in (
        ({"do": "pause"}, "Select at least one row."),
        ({"do": "write"}, "Select at least one row."),
        ({"do": "pause", "person": viewer_value}, "None of them is a rater."),
        ({"do": "write", "person": viewer_value}, "None of them is a rater."),
        (
            {"do": "remove", "person": f"r{rater.pk}"},
            "None of them is a member.",
        ),
    ):
        response = post_people("action/", form_data, follow=True)
        assert message in get_text(response)
        assert get_undo_value(response) is None
    assert post_people("action/", {"do": "dance"}).status_code == 400
    assert post_people("action/", {"do": "pause", "person": ["r1"] * 101}).status_code == 400


def test_write_action_redirects_to_the_message_form(post_people, project):
    location = post_people(
        "action/", {"do": "write", "person": get_selection_value(project, "annotator")}
    )["Location"]
    rater = project.raters.get()
    assert location == f"/projects/{project.pk}/rater-messages/?rater={rater.pk}&back=people"


def get_people_by_name(response):
    return {person.name: person for person in response.context["people_page"].people}


def test_account_and_its_rater_share_one_row(client_for, lead, project, annotator):
    rater = project.raters.get()
    Rater.objects.filter(pk=rater.pk).update(name="Ann Other", group="Vendor A")
    Rater.objects.create(project=project, key="r10")
    Rater.objects.create(project=project, key="r9")
    client = client_for(lead)
    page = client.get(f"/projects/{project.pk}/people/")
    assert list(get_people_by_name(page)) == ["lead", "viewer", "Ann Other", "r9", "r10"]
    ann = get_people_by_name(page)["Ann Other"]
    assert (ann.member.user, ann.rater, ann.account) == (annotator, rater, "annotator")
    assert "account annotator" in get_text(page)
    for text in ("OTHER", "annotat", "vendor a", "ann"):
        assert "Ann Other" in get_people_by_name(
            client.get(f"/projects/{project.pk}/people/?q={text}")
        )
    empty_page = client.get(f"/projects/{project.pk}/people/?q=nobody")
    assert "No matches." in get_text(empty_page)


def test_hidden_rater_and_its_account_are_two_rows(client_for, lead, project, annotator):
    project.hides_raters = True
    project.save(update_fields=["hides_raters"])
    pseudonyms.assign_pseudonyms(project.pk)
    page = client_for(lead).get(f"/projects/{project.pk}/people/")
    people_by_name = get_people_by_name(page)
    pseudonym = project.raters.get().key
    assert people_by_name["annotator"].rater is None
    assert (people_by_name[pseudonym].member, people_by_name[pseudonym].account) == (None, "")
    matches = get_people_by_name(
        client_for(lead).get(f"/projects/{project.pk}/people/?q=annotator")
    )
    assert list(matches) == ["annotator"]


def test_people_list_shows_stored_results_of_raters(client_for, lead, project, question, rate, utc):
    labels = ("none", "minor", "major")
    for number in range(40):
        for rater in ("ann", "ben"):
            label = labels[(number + (rater == "ben" and number % 5 == 0)) % 3]
            rated_at = utc(2026, 3, 1 + number % 5, 12)
            rate(question, f"i{number}", rater, label, rated_at=rated_at, seconds=12.5)
    update_question(question.pk)
    page = client_for(lead).get(f"/projects/{project.pk}/people/")
    headings = [str(column.heading) for column in page.context["people_page"].columns]
    assert headings == ["Ratings", "Kappa with peers", "Seconds per item", "Ratings last changed"]
    result = RaterResult.objects.get(rater__key="ben")
    ben = dict(
        zip(
            headings, (value for _show, value in get_people_by_name(page)["ben"].cells), strict=True
        )
    )
    assert (ben["Ratings"], ben["Seconds per item"]) == (40, 12.5)
    kappa = result.coefficients["vs_peers_quadratic"]  # the weights of the headline
    assert ben["Kappa with peers"] == kappa
    assert f"{kappa['value']:.2f}" in page.text
    assert (
        ben["Ratings last changed"]
        == question.ratings.filter(rater__key="ben").latest("changed_at").changed_at
    )
    assert "first question" not in page.text
    Question.objects.create(project=project, key="second", text="And this?", position=1)
    page_text = client_for(lead).get(f"/projects/{project.pk}/people/").text
    assert f"Ratings, kappa and seconds: question “{question.text}”" in page_text


def test_invited_rater_is_not_active_and_has_no_ratings_yet(client_for, lead, project, annotator):
    annotator.set_unusable_password()
    annotator.save()
    page = client_for(lead).get(f"/projects/{project.pk}/people/")
    assert annotator.pk in page.context["linkable"]
    row = page.text.split('id="choose-all"')[1].split("annotator", 1)[1].split("</tr>")[0]
    assert "invited</span>" in row and "active" not in row
    assert "no ratings" in row and "not counted yet" not in row


def test_rater_gets_a_name_and_an_account(post_people, project, viewer):
    rater = Rater.objects.create(project=project, key="r7")
    post_people(f"raters/{rater.pk}/", {"name": "Seven", "kind": "human", "user": viewer.pk})
    rater.refresh_from_db()
    assert (rater.name, rater.user) == ("Seven", viewer)


def test_a_rater_gets_a_group(post_people, project, client_for, lead):
    rater = project.raters.get()
    post_people(f"raters/{rater.pk}/", {"name": "Ann", "kind": "human", "group": " Vendor A "})
    rater.refresh_from_db()
    assert rater.group == "Vendor A"
    assert "Vendor A" in get_text(client_for(lead).get(f"/projects/{project.pk}/people/"))
    response = post_people(
        f"raters/{rater.pk}/", {"name": "Ann", "kind": "human", "group": "g" * 65}
    )
    assert response.status_code == 400
    rater.refresh_from_db()
    assert rater.group == "Vendor A"


def test_a_model_gets_a_name_and_a_version(post_people, project, client_for, lead):
    rater = Rater.objects.create(project=project, key="judge")
    form_data = {"name": "", "model": "gpt", "prompt_version": "v2"}
    response = post_people(f"raters/{rater.pk}/", form_data | {"kind": "human"})
    assert response.status_code == 400
    assert "Only models can have this." in get_text(response)
    post_people(f"raters/{rater.pk}/", form_data | {"kind": "model"})
    rater.refresh_from_db()
    assert (rater.model, rater.prompt_version) == ("gpt", "v2")
    assert "gpt · v2" in get_text(client_for(lead).get(f"/projects/{project.pk}/people/"))


def test_account_is_linked_to_one_rater_and_must_be_a_member(
    post_people, project, annotator, stranger
):
    rater = Rater.objects.create(project=project, key="r7")
    linked_response = post_people(
        f"raters/{rater.pk}/", {"name": "", "kind": "human", "user": annotator.pk}
    )
    assert "is already another rater" in get_text(linked_response)
    stranger_response = post_people(
        f"raters/{rater.pk}/", {"name": "", "kind": "human", "user": stranger.pk}
    )
    assert stranger_response.status_code == 400
    rater.refresh_from_db()
    assert rater.user is None


def test_raters_are_searched_and_paginated(client_for, lead, project):
    Rater.objects.bulk_create(
        Rater(project=project, key=f"worker{number:03}") for number in range(120)
    )
    client = client_for(lead)
    page = get_text(client.get(f"/projects/{project.pk}/people/?page=2"))
    assert "51 to 100 of 123" in page
    search_text = get_text(client.get(f"/projects/{project.pk}/people/?q=ER117"))
    assert "worker117" in search_text
    assert "worker116" not in search_text


def test_people_page_makes_a_fixed_number_of_queries(
    client_for, lead, project, make_user, django_assert_max_num_queries
):
    for number in range(20):
        user = make_user(f"user{number}")
        user.set_unusable_password()
        user.save()
        Member.objects.create(project=project, user=user, role="annotator")
        Rater.objects.create(project=project, key=f"user{number}", user=user)
    client = client_for(lead)
    # The list and its page; five more for the results of raters, one for the items to review.
    with django_assert_max_num_queries(18):
        client.get(f"/projects/{project.pk}/people/")


def test_a_token_is_shown_once_and_works_until_revoked(client_for, lead, project):
    client = client_for(lead)
    response = client.post(
        "/tokens/",
        {"scope": "read", "project": project.pk, "days": "30", "password": PASSWORD},
    )
    match = re.search(r'value="(ccd_[^"]+)"', get_text(response))
    assert match
    token = match[1]
    assert token not in get_text(client.get("/tokens/"))
    stored = ApiToken.objects.get()
    assert (stored.scope, stored.project, stored.user) == ("read", project, lead)
    assert token not in str(vars(stored))
    headers = {"Authorization": f"Bearer {token}"}
    assert Client().get("/api/v1/projects/", headers=headers).status_code == 200
    client.post(f"/tokens/{stored.pk}/revoke/")
    assert Client().get("/api/v1/projects/", headers=headers).status_code == 401


def test_nobody_revokes_the_token_of_another(client_for, lead, stranger, api_for):
    api_for(lead)
    token = ApiToken.objects.get()
    assert client_for(stranger).post(f"/tokens/{token.pk}/revoke/").status_code == 404
    assert client_for(stranger).get(f"/tokens/{token.pk}/revoke/").status_code == 405
    token.refresh_from_db()
    assert token.revoked_at is None


def test_token_is_not_created_for_a_foreign_project(client_for, stranger, project):
    response = client_for(stranger).post(
        "/tokens/",
        {"scope": "read", "project": project.pk, "days": "30", "password": PASSWORD},
    )
    assert "Select a valid choice" in get_text(response)
    assert not ApiToken.objects.exists()


# --- accounts without an owner, and limits of an account


def test_only_superusers_add_an_account_without_a_password(
    post_people, project, make_user, admin, client_for
):
    """A lead who adds it would get its invitation link."""
    user = make_user("fresh")
    user.set_unusable_password()
    user.save()
    data = {"username": "fresh", "role": "viewer", "account": "existing"}
    post_people("add/", data)
    assert not Member.objects.filter(user=user).exists()
    assert not project.member_offers.exclude(user=None).exists()
    path = f"/projects/{project.pk}/people/add/"
    assert client_for(admin).post(path, data).status_code == 302
    assert Member.objects.filter(user=user).exists()


def test_sole_lead_of_a_fresh_account_adds_it_to_another_project(
    post_people, project, make_project, lead, client_for
):
    post_people("add/", {"username": "newcomer", "role": "viewer", "account": "new"})
    other_project = make_project("Other")
    Member.objects.create(project=other_project, user=lead, role="lead")
    data = {"username": "newcomer", "role": "viewer", "account": "existing"}
    response = client_for(lead).post(f"/projects/{other_project.pk}/people/add/", data)
    assert response.status_code == 302


def test_token_needs_the_password_and_an_expiry(client_for, lead):
    client = client_for(lead)
    form = {"scope": "read", "days": "30"}
    assert client.post("/tokens/", form).status_code == 400
    assert client.post("/tokens/", {**form, "password": "wrong"}).status_code == 400
    assert client.post("/tokens/", {**form, "password": PASSWORD, "days": "0"}).status_code == 400
    assert not ApiToken.objects.exists()


def test_number_of_tokens_is_limited(client_for, lead):
    for _ in range(MAX_TOKENS):
        tokens.create_token(user=lead)
    client, form = client_for(lead), {"scope": "read", "days": "30", "password": PASSWORD}
    response = client.post("/tokens/", form)
    assert (response.status_code, ApiToken.objects.count()) == (400, MAX_TOKENS)
    client.post(f"/tokens/{ApiToken.objects.latest('pk').pk}/revoke/")
    assert client.post("/tokens/", form).status_code == 200


CREATION_PAGES = [("get", "/projects/new/"), ("get", "/projects/import/")]


@pytest.mark.parametrize(
    ("setting", "allowed"),
    [
        ("everybody", {"annotator", "lead", "admin"}),
        ("leads", {"lead", "admin"}),
        ("staff", {"admin"}),
    ],
)
def test_setting_limits_project_creation(
    client_for, project, annotator, lead, admin, settings, setting, allowed
):
    settings.MAY_CREATE_PROJECTS = setting
    for user in (annotator, lead, admin):
        client = client_for(user)
        codes = {getattr(client, method)(path).status_code for method, path in CREATION_PAGES}
        codes.add(client.post("/api/v1/projects/", {}, content_type="application/json").status_code)
        assert codes == ({200, 400} if user.username in allowed else {403})
        assert ("/projects/new/" in get_text(client.get("/"))) == (user.username in allowed)
        if user.username not in allowed:
            assert client.post("/example/").status_code == 403


def test_model_is_added_once(project, post_people):
    """Its form opens next, for the model's name and version."""
    response = post_people("add-model/", {"model-key": "gpt"})
    rater = project.raters.get(key="gpt")
    assert rater.kind == Rater.Kind.MODEL
    assert response.url == f"/projects/{project.pk}/people/raters/{rater.pk}/"
    for key in ("gpt", "ann", "a\tb"):
        page = post_people("add-model/", {"model-key": key})
        assert page.status_code == 400 and page.context["model_form"].errors["key"]
    assert project.raters.filter(kind=Rater.Kind.MODEL).count() == 1


def test_page_has_the_name_of_its_tab(client_for, lead, project):
    text = get_text(client_for(lead).get(f"/projects/{project.pk}/people/"))
    assert "<title>Members" in text and 'id="people-title">Members' in text
    assert re.search(r'aria-current="page">\s*Members', text)
