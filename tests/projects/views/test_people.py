"""Members, invitations, raters and tokens in the browser."""

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
from metrics.models import RaterReading
from projects import authentication
from projects.forms.members import MAX_TOKENS
from projects.models import ApiToken, Member, Question, Rater
from projects.services.raters import pseudonyms
from tests.cast import PASSWORD, make_project

pytestmark = pytest.mark.django_db


def text_of(response):
    return html.unescape(response.content.decode())


@pytest.fixture
def people(client_for, lead, project):
    client = client_for(lead)
    return lambda path="", data=None, **more: client.post(
        f"/projects/{project.pk}/people/{path}", data or {}, **more
    )


def member_of(project, name):
    return project.members.get(user__username=name)


def person_of(project, name):
    """What the box of a member sends."""
    member = member_of(project, name)
    rater = project.raters.filter(user=member.user).first()
    return f"m{member.pk}" + (f"r{rater.pk}" if rater else "")


def test_an_account_that_the_lead_knows_is_added(people, project, colleague):
    response = people("add/", {"username": "stranger", "role": "viewer", "account": "existing"})
    assert response.status_code == 302
    assert member_of(project, "stranger").role == "viewer"
    assert not project.raters.filter(user=colleague).exists()


def test_an_annotator_becomes_a_rater(people, project, colleague):
    people("add/", {"username": "stranger", "role": "annotator", "account": "existing"})
    assert project.raters.get(user=colleague).key == "stranger"


def test_an_annotator_is_tied_to_the_untied_rater_of_the_same_key(people, project, colleague):
    imported = Rater.objects.create(project=project, key="stranger")
    people("add/", {"username": "stranger", "role": "annotator", "account": "existing"})
    imported.refresh_from_db()
    assert imported.user == colleague


def test_a_rater_of_the_same_key_that_is_a_model_or_tied_is_left_alone(
    people, project, colleague, viewer
):
    Rater.objects.create(project=project, key="stranger", kind="model")
    people("add/", {"username": "stranger", "role": "annotator", "account": "existing"})
    assert project.raters.get(user=colleague).key == "stranger-2"


def link_in(response):
    found = re.search(r'value="http://testserver(/invitations/[^"]+)"', text_of(response))
    assert found
    return found[1]


def test_a_new_account_gets_a_link_that_is_shown_once(people, project, client_for, lead):
    response = people("add/", {"username": "newcomer", "role": "annotator", "account": "new"})
    link = link_in(response)
    assert response["Cache-Control"].startswith("max-age=0, no-cache, no-store")
    assert "/invitations/" not in text_of(client_for(lead).get(f"/projects/{project.pk}/people/"))
    assert not User.objects.get(username="newcomer").has_usable_password()
    guest = Client()
    form = guest.get(link, follow=True).redirect_chain[-1][0]
    guest.post(form, {"new_password1": "a fine long secret", "new_password2": "a fine long secret"})
    assert guest.session["_auth_user_id"] == str(User.objects.get(username="newcomer").pk)
    assert project.raters.filter(key="newcomer", user__username="newcomer").exists()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (
            {"username": "annotator", "role": "viewer", "account": "existing"},
            "is a member of this project already",
        ),
        ({"username": "annotator", "role": "viewer", "account": "new"}, "already exists"),
        # Cyrillic: one letter among Latin ones, and all of them like those of an account's name.
        ({"username": "st\u043ene", "role": "viewer", "account": "new"}, "looks like another"),
        (
            {"username": "\u0441\u043e\u0441\u043e", "role": "viewer", "account": "new"},
            "looks like another",
        ),
        ({"username": "two words", "role": "viewer", "account": "new"}, "Enter a valid username"),
        ({"username": "", "role": "viewer", "account": "new"}, "This field is required"),
        (
            {"username": "other", "role": "king", "account": "new"},
            "king is not one of the available choices",
        ),
    ],
)
def test_bad_people_are_refused_and_change_nothing(people, project, data, said):
    User.objects.create(username="coco")
    before = (User.objects.count(), Member.objects.count(), Rater.objects.count())
    response = people("add/", data)
    assert response.status_code == 400
    assert said in text_of(response)
    assert (User.objects.count(), Member.objects.count(), Rater.objects.count()) == before


def test_names_of_other_alphabets_are_welcome(people):
    for name in (
        "\u0430\u043d\u043d\u0430",
        "\u0438\u0432\u0430\u043d-2",
        "zo\u00eb",
        "\u6807\u6ce8",
    ):
        people("add/", {"username": name, "role": "viewer", "account": "new"})
        assert User.objects.filter(username=name).exists()


def test_several_are_invited_at_once_or_nobody(people, project, stranger):
    """Each with a link of their own; a line that cannot be is named."""
    sent = {"several-names": "amy\n\nstranger\na b", "several-role": "annotator"}
    response = people("invite/", sent)
    assert response.status_code == 400
    text = text_of(response)
    assert "Line 2, stranger: A user with that username already exists." in text
    assert "Line 3, a b:" in text
    assert not User.objects.filter(username="amy").exists()
    text = text_of(people("invite/", {**sent, "several-names": "amy\r\nbob\r\n"}))
    links = re.findall(r"(amy|bob)\t(http://testserver/invitations/\S+)", text)
    assert [name for name, _link in links] == ["amy", "bob"]
    assert Client().get(links[0][1], follow=True).status_code == 200
    assert set(project.raters.values_list("key", flat=True)) == {"ann", "amy", "bob"}
    many = "\n".join(f"n{number}" for number in range(101))
    assert people("invite/", {**sent, "several-names": many}).status_code == 400


def test_whom_a_lead_knows_is_invited_with_the_others(people, project, lead, stranger):
    elsewhere = make_project("Elsewhere")
    Member.objects.create(project=elsewhere, user=lead, role="lead")
    for user in (stranger, User.objects.create_user("fresh")):
        Member.objects.create(project=elsewhere, user=user, role="annotator")
    sent = {"several-names": "amy\nstranger\nfresh", "several-role": "annotator"}
    text = text_of(people("invite/", sent))
    assert re.findall(r"(\w+)\thttp", text) == ["amy", "fresh"]  # who has no password yet
    assert "Members now, with the accounts that they have: stranger." in text
    assert set(project.raters.values_list("key", flat=True)) == {"ann", "amy", "stranger", "fresh"}
    again = text_of(people("invite/", {**sent, "several-names": "zoe\nstranger"}))
    assert "Line 2, stranger: 'stranger' is a member of this project already." in again
    twice = people("invite/", {**sent, "several-names": "zoe\nzed\nzoe"})
    assert twice.status_code == 400
    assert "Twice: zoe." in text_of(twice)
    assert not User.objects.filter(username="zoe").exists()


def test_a_link_is_renewed_only_while_no_password_is_set(people, project, viewer):
    people("add/", {"username": "newcomer", "role": "viewer", "account": "new"})
    assert link_in(people(f"members/{member_of(project, 'newcomer').pk}/link/"))
    response = people(f"members/{member_of(project, 'viewer').pk}/link/", follow=True)
    assert "/invitations/" not in text_of(response)
    assert "has a password already" in text_of(response)


def test_a_lead_gets_no_link_to_an_account_that_belongs_to_other_leads_too(
    people, project, make_project, stranger
):
    people("add/", {"username": "newcomer", "role": "viewer", "account": "new"})
    other = make_project("Other")
    Member.objects.create(project=other, user=stranger, role="lead")
    Member.objects.create(project=other, user=User.objects.get(username="newcomer"), role="viewer")
    response = people(f"members/{member_of(project, 'newcomer').pk}/link/", follow=True)
    assert "belongs to other leads as well" in text_of(response)


def test_the_last_lead_stays(people, project):
    both = [person_of(project, name) for name in ("annotator", "lead")]
    for data in ({"do": "remove"}, {"do": "role", "role": "viewer"}):
        assert "needs a lead" in text_of(people("act/", data | {"person": both}, follow=True))
    assert member_of(project, "lead").role == "lead"
    assert member_of(project, "annotator").role == "annotator"  # all of them, or nobody


def test_a_lead_may_leave_once_there_is_another(people, project):
    people("act/", {"do": "role", "role": "lead", "person": person_of(project, "viewer")})
    response = people("act/", {"do": "remove", "person": person_of(project, "lead")})
    assert response["Location"] == "/"
    assert not project.members.filter(user__username="lead").exists()


def test_a_role_is_changed_and_an_unknown_one_refused(people, project):
    sent = {"do": "role", "role": "annotator", "person": person_of(project, "viewer")}
    people("act/", sent)
    assert member_of(project, "viewer").role == "annotator"
    assert project.raters.filter(user__username="viewer").exists()
    for role in ("king", ""):
        response = people("act/", sent | {"role": role}, follow=True)
        assert "one of lead, annotator, viewer" in text_of(response)


def test_who_is_removed_is_shut_out_and_the_ratings_stay(
    people, project, question, rate, client_for, annotator
):
    rate(question, "i1", "ann", "minor")
    client = client_for(annotator)
    page = f"/projects/{project.pk}/people/"
    lead = client_for(project.members.get(role="lead").user)
    assert "not a member" not in lead.get(page).text
    people("act/", {"do": "remove", "person": person_of(project, "annotator")})
    assert client.get(page).status_code == 404
    assert question.ratings.count() == 1
    told = lead.get(page).text
    assert ("not a member" in told, "gets items" in told) == (True, False)


def test_a_rater_is_paused_and_resumed(people, project):
    rater = project.raters.get()
    for do in ("pause", "resume"):
        people("act/", {"do": do, "person": f"r{rater.pk}"})
        rater.refresh_from_db()
        assert rater.paused == (do == "pause")


def undo_in(response):
    """What the button sends, if there is one."""
    found = re.search(r'name="undo" value="([^"]+)"', response.text)
    return html.unescape(found[1]) if found else None


def test_who_was_removed_comes_back_as_they_were(people, project, client_for, annotator, lead):
    Member.objects.filter(user=annotator).update(starred=True)
    both = [person_of(project, name) for name in ("annotator", "viewer")]
    done = people("act/", {"do": "remove", "person": both, "passed": "q=n&page=1&x=2"}, follow=True)
    assert "Not in this project any more: annotator, viewer. The ratings stay." in text_of(done)
    assert done.redirect_chain[-1][0].startswith(f"/projects/{project.pk}/people/?q=n&page=1&undo=")
    assert set(project.members.values_list("user__username", flat=True)) == {"lead"}
    assert "Taken back." in text_of(people("undo/", {"undo": undo_in(done)}, follow=True))
    back = project.members.exclude(user=lead).order_by("user__username")
    found = [(one.user.username, one.role, one.starred) for one in back]
    assert found == [("annotator", "annotator", True), ("viewer", "viewer", False)]
    assert project.raters.get().user == annotator
    # Once more changes nothing: they are there.
    assert "Taken back." in text_of(people("undo/", {"undo": undo_in(done)}, follow=True))
    assert project.members.count() == 3


@pytest.mark.parametrize(
    ("sent", "now"),
    [({"do": "pause"}, ("annotator", True)), ({"do": "role", "role": "viewer"}, ("viewer", False))],
)
def test_what_was_done_is_taken_back(people, project, sent, now):
    def stands():
        return (member_of(project, "annotator").role, project.raters.get().paused)

    done = people("act/", sent | {"person": person_of(project, "annotator")}, follow=True)
    assert stands() == now
    people("undo/", {"undo": undo_in(done)})
    assert stands() == ("annotator", False)


def test_only_who_did_it_takes_it_back_and_not_for_ever(
    people, project, client_for, admin, make_project, lead
):
    done = people("act/", {"do": "remove", "person": person_of(project, "viewer")}, follow=True)
    undo = {"undo": undo_in(done)}
    elsewhere = make_project("Elsewhere")
    Member.objects.create(project=elsewhere, user=lead, role="lead")
    path = "/projects/{}/people/undo/"
    for client, number in ((client_for(admin), project.pk), (client_for(lead), elsewhere.pk)):
        answer = client.post(path.format(number), undo, follow=True)
        assert "cannot be taken back any more" in text_of(answer)
    for wrong in ("", "x", undo["undo"] + "x"):
        answer = people("undo/", {"undo": wrong}, follow=True)
        assert "cannot be taken back any more" in text_of(answer)
    with time_machine.travel(timezone.now() + datetime.timedelta(hours=2), tick=False):
        client = client_for(lead)
        answer = client.post(path.format(project.pk), undo, follow=True)
        assert "cannot be taken back any more" in text_of(answer)
        assert undo_in(client.get(f"/projects/{project.pk}/people/", undo)) is None
    assert not project.members.filter(user__username="viewer").exists()


def test_who_does_not_fit_an_act_is_told(people, project):
    viewer, rater = person_of(project, "viewer"), Rater.objects.create(project=project, key="r7")
    for sent, said in (
        ({"do": "pause"}, "Choose somebody first."),
        ({"do": "write"}, "Choose somebody first."),
        ({"do": "pause", "person": viewer}, "None of them rates."),
        ({"do": "write", "person": viewer}, "None of them rates."),
        ({"do": "remove", "person": f"r{rater.pk}"}, "None of them has a role here."),
    ):
        done = people("act/", sent, follow=True)
        assert said in text_of(done)
        assert undo_in(done) is None
    assert people("act/", {"do": "dance"}).status_code == 400
    assert people("act/", {"do": "pause", "person": ["r1"] * 101}).status_code == 400


def test_one_writes_to_the_chosen_and_comes_back(people, project):
    to = people("act/", {"do": "write", "person": person_of(project, "annotator")})["Location"]
    rater = project.raters.get()
    assert to == f"/projects/{project.pk}/write/?rater={rater.pk}&back=people"


def rows_of(response):
    return {person.name: person for person in response.context["found"].people}


def test_an_account_and_its_rater_are_one_line(client_for, lead, project, annotator):
    rater = project.raters.get()
    Rater.objects.filter(pk=rater.pk).update(name="Ann Other", group="Vendor A")
    Rater.objects.create(project=project, key="r10")
    Rater.objects.create(project=project, key="r9")
    client = client_for(lead)
    page = client.get(f"/projects/{project.pk}/people/")
    assert list(rows_of(page)) == ["lead", "viewer", "Ann Other", "r9", "r10"]
    ann = rows_of(page)["Ann Other"]
    assert (ann.member.user, ann.rater, ann.account) == (annotator, rater, "annotator")
    assert "account annotator" in text_of(page)
    for text in ("OTHER", "annotat", "vendor a", "ann"):
        assert "Ann Other" in rows_of(client.get(f"/projects/{project.pk}/people/?q={text}"))
    nobody = client.get(f"/projects/{project.pk}/people/?q=nobody")
    assert "Nobody has this in a name, or as the group." in text_of(nobody)


def test_where_raters_are_hidden_an_account_and_its_pseudonym_are_two_lines(
    client_for, lead, project, annotator
):
    project.raters_hidden = True
    project.save(update_fields=["raters_hidden"])
    pseudonyms.assign_pseudonyms(project.pk)
    page = client_for(lead).get(f"/projects/{project.pk}/people/")
    found = rows_of(page)
    pseudonym = project.raters.get().key
    assert found["annotator"].rater is None
    assert (found[pseudonym].member, found[pseudonym].account) == (None, "")
    searched = rows_of(client_for(lead).get(f"/projects/{project.pk}/people/?q=annotator"))
    assert list(searched) == ["annotator"]


def test_the_list_tells_what_is_stored_of_who_rates(client_for, lead, project, question, rate, utc):
    labels = ("none", "minor", "major")
    for number in range(40):
        for rater in ("ann", "ben"):
            label = labels[(number + (rater == "ben" and number % 5 == 0)) % 3]
            moment = utc(2026, 3, 1 + number % 5, 12)
            rate(question, f"i{number}", rater, label, rated_at=moment, seconds=12.5)
    update_question(question.pk)
    page = client_for(lead).get(f"/projects/{project.pk}/people/")
    heads = [str(column.heading) for column in page.context["found"].columns]
    assert heads == ["Ratings", "Kappa with peers", "Seconds per item", "Ratings last changed"]
    reading = RaterReading.objects.get(rater__key="ben")
    ben = dict(zip(heads, (value for _show, value in rows_of(page)["ben"].cells), strict=True))
    assert (ben["Ratings"], ben["Seconds per item"]) == (40, 12.5)
    kappa = reading.coefficients["vs_peers_quadratic"]  # the weights of what is read first
    assert ben["Kappa with peers"] == kappa
    assert f"{kappa['value']:.2f}" in page.text
    assert (
        ben["Ratings last changed"]
        == question.ratings.filter(rater__key="ben").latest("changed_at").changed_at
    )
    assert "first question" not in page.text
    Question.objects.create(project=project, key="second", text="And this?", position=1)
    told = client_for(lead).get(f"/projects/{project.pk}/people/").text
    assert f"are of the first question: {question.text}" in told


def test_a_rater_is_named_and_tied(people, project, viewer):
    rater = Rater.objects.create(project=project, key="r7")
    people(f"raters/{rater.pk}/", {"name": "Seven", "kind": "human", "user": viewer.pk})
    rater.refresh_from_db()
    assert (rater.name, rater.user) == ("Seven", viewer)


def test_a_rater_gets_a_group(people, project, client_for, lead):
    rater = project.raters.get()
    people(f"raters/{rater.pk}/", {"name": "Ann", "kind": "human", "group": " Vendor A "})
    rater.refresh_from_db()
    assert rater.group == "Vendor A"
    assert "Vendor A" in text_of(client_for(lead).get(f"/projects/{project.pk}/people/"))
    long = people(f"raters/{rater.pk}/", {"name": "Ann", "kind": "human", "group": "g" * 65})
    assert long.status_code == 400
    rater.refresh_from_db()
    assert rater.group == "Vendor A"


def test_a_model_gets_a_name_and_a_version(people, project, client_for, lead):
    rater = Rater.objects.create(project=project, key="judge")
    sent = {"name": "", "model": "gpt", "prompt_version": "v2"}
    person = people(f"raters/{rater.pk}/", sent | {"kind": "human"})
    assert person.status_code == 400
    assert "Only of raters who are models." in text_of(person)
    people(f"raters/{rater.pk}/", sent | {"kind": "model"})
    rater.refresh_from_db()
    assert (rater.model, rater.prompt_version) == ("gpt", "v2")
    assert "gpt · v2" in text_of(client_for(lead).get(f"/projects/{project.pk}/people/"))


def test_a_user_is_tied_to_one_rater_only_and_only_as_a_member(
    people, project, annotator, stranger
):
    rater = Rater.objects.create(project=project, key="r7")
    taken = people(f"raters/{rater.pk}/", {"name": "", "kind": "human", "user": annotator.pk})
    assert "is tied to rater 'ann' already" in text_of(taken)
    foreign = people(f"raters/{rater.pk}/", {"name": "", "kind": "human", "user": stranger.pk})
    assert foreign.status_code == 400
    rater.refresh_from_db()
    assert rater.user is None


def test_raters_are_found_and_paged(client_for, lead, project):
    Rater.objects.bulk_create(
        Rater(project=project, key=f"worker{number:03}") for number in range(120)
    )
    client = client_for(lead)
    page = text_of(client.get(f"/projects/{project.pk}/people/?page=2"))
    assert "51 to 100 of 123" in page
    found = text_of(client.get(f"/projects/{project.pk}/people/?q=ER117"))
    assert "worker117" in found
    assert "worker116" not in found


def test_the_people_page_asks_the_database_a_fixed_number_of_times(
    client_for, lead, project, make_user, django_assert_max_num_queries
):
    for number in range(20):
        user = make_user(f"user{number}")
        user.set_unusable_password()
        user.save()
        Member.objects.create(project=project, user=user, role="annotator")
        Rater.objects.create(project=project, key=f"user{number}", user=user)
    client = client_for(lead)
    # Who is in the list, and the page of it; five more for what is told of who rates.
    with django_assert_max_num_queries(17):
        client.get(f"/projects/{project.pk}/people/")


def test_a_token_is_shown_once_and_works_until_revoked(client_for, lead, project):
    client = client_for(lead)
    response = client.post(
        "/tokens/",
        {"scope": "read", "project": project.pk, "days": "30", "password": PASSWORD},
    )
    shown = re.search(r'value="(ccd_[^"]+)"', text_of(response))
    assert shown
    token = shown[1]
    assert token not in text_of(client.get("/tokens/"))
    stored = ApiToken.objects.get()
    assert (stored.scope, stored.project, stored.user) == ("read", project, lead)
    assert token not in str(vars(stored))
    bearer = {"Authorization": f"Bearer {token}"}
    assert Client().get("/api/v1/projects/", headers=bearer).status_code == 200
    client.post(f"/tokens/{stored.pk}/revoke/")
    assert Client().get("/api/v1/projects/", headers=bearer).status_code == 401


def test_nobody_revokes_the_token_of_another(client_for, lead, stranger, api_for):
    api_for(lead)
    token = ApiToken.objects.get()
    assert client_for(stranger).post(f"/tokens/{token.pk}/revoke/").status_code == 404
    assert client_for(stranger).get(f"/tokens/{token.pk}/revoke/").status_code == 405
    token.refresh_from_db()
    assert token.revoked_at is None


def test_a_token_is_not_made_for_a_foreign_project(client_for, stranger, project):
    response = client_for(stranger).post(
        "/tokens/",
        {"scope": "read", "project": project.pk, "days": "30", "password": PASSWORD},
    )
    assert "Select a valid choice" in text_of(response)
    assert not ApiToken.objects.exists()


# --- accounts that nobody owns yet, and what an account may make


def test_an_account_without_a_password_is_nobodys_to_add(
    people, project, make_user, admin, client_for
):
    """Who adds it would be given its link."""
    user = make_user("fresh")
    user.set_unusable_password()
    user.save()
    data = {"username": "fresh", "role": "viewer", "account": "existing"}
    people("add/", data)
    assert not Member.objects.filter(user=user).exists()
    assert not project.member_offers.exclude(user=None).exists()
    path = f"/projects/{project.pk}/people/add/"
    assert client_for(admin).post(path, data).status_code == 302
    assert Member.objects.filter(user=user).exists()


def test_who_leads_all_projects_of_a_fresh_account_may_add_it_to_another(
    people, project, make_project, lead, client_for
):
    people("add/", {"username": "newcomer", "role": "viewer", "account": "new"})
    other = make_project("Other")
    Member.objects.create(project=other, user=lead, role="lead")
    data = {"username": "newcomer", "role": "viewer", "account": "existing"}
    answer = client_for(lead).post(f"/projects/{other.pk}/people/add/", data)
    assert answer.status_code == 302


def test_a_token_needs_the_password_and_ends(client_for, lead):
    client = client_for(lead)
    form = {"scope": "read", "days": "30"}
    assert client.post("/tokens/", form).status_code == 400
    assert client.post("/tokens/", {**form, "password": "wrong"}).status_code == 400
    assert client.post("/tokens/", {**form, "password": PASSWORD, "days": "0"}).status_code == 400
    assert not ApiToken.objects.exists()


def test_tokens_are_not_without_number(client_for, lead):
    for _ in range(MAX_TOKENS):
        authentication.create_token(user=lead)
    client, form = client_for(lead), {"scope": "read", "days": "30", "password": PASSWORD}
    refused = client.post("/tokens/", form)
    assert (refused.status_code, ApiToken.objects.count()) == (400, MAX_TOKENS)
    client.post(f"/tokens/{ApiToken.objects.latest('pk').pk}/revoke/")
    assert client.post("/tokens/", form).status_code == 200


DOORS_TO_A_PROJECT = [("get", "/projects/new/"), ("get", "/projects/import/")]


@pytest.mark.parametrize(
    ("setting", "allowed"),
    [
        ("everybody", {"annotator", "lead", "admin"}),
        ("leads", {"lead", "admin"}),
        ("staff", {"admin"}),
    ],
)
def test_who_may_make_projects(
    client_for, project, annotator, lead, admin, settings, setting, allowed
):
    settings.MAY_CREATE_PROJECTS = setting
    for user in (annotator, lead, admin):
        client = client_for(user)
        codes = {getattr(client, method)(path).status_code for method, path in DOORS_TO_A_PROJECT}
        codes.add(client.post("/api/v1/projects/", {}, content_type="application/json").status_code)
        assert codes == ({200, 400} if user.username in allowed else {403})
        assert ("/projects/new/" in text_of(client.get("/"))) == (user.username in allowed)
        if user.username not in allowed:
            assert client.post("/example/").status_code == 403
