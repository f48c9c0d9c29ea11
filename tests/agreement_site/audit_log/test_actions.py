"""Each act that the trail knows, done by HTTP as people and programs do it, writes its line: who,
from where, in which project, and what was before and after."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.contrib.auth.tokens import default_token_generator
from django.test import Client
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from rest_framework.test import APIClient

from agreement_site.audit_log.actions import ACTIONS
from agreement_site.models import TrailLine
from metrics.models import NamedView, ViewLink
from projects import authentication
from projects.models import ApiToken, Item, Member, MemberOffer, Project, Rater
from projects.services.items import gold
from quality.models import GoldAct
from tests.cast import PASSWORD

pytestmark = pytest.mark.django_db

FROM = "10.9.8.7"
ANYTHING: Any = object()  # not looked at


@dataclass
class World:
    project: Project
    lead: User
    admin: User
    rate: Callable[..., Any]
    made: dict[str, Any] = field(default_factory=dict)

    def browser(self, user: User | None = None) -> Client:
        client = Client(REMOTE_ADDR=FROM)
        client.force_login(user or self.lead)
        return client

    def post(self, path: str, data: dict[str, Any] | None = None, *, by: User | None = None) -> Any:
        """To an address of the project, or of the site where it begins with a slash."""
        answer = self.browser(by).post(self.at(path), data or {})
        assert answer.status_code in (200, 302), answer.content
        return answer

    def get(self, path: str) -> None:
        assert self.browser().get(self.at(path)).status_code == 200

    def at(self, path: str) -> str:
        return path if path.startswith("/") else f"/projects/{self.project.pk}/{path}"

    def api(self, method: str, path: str, data: Any = None) -> None:
        client = APIClient(REMOTE_ADDR=FROM)
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {self.made['token']}")
        address = f"/api/v1/projects/{self.project.pk}/{path}"
        answer = client.generic(method, address, json.dumps(data), content_type="application/json")
        assert answer.status_code in (200, 201), answer.content

    def member(self, name: str) -> Member:
        return Member.objects.get(project=self.project, user__username=name)

    def rater(self, key: str = "ann") -> Rater:
        return Rater.objects.get(project=self.project, key=key)

    def item(self, key: str = "i1") -> Item:
        return Item.objects.get_or_create(project=self.project, key=key)[0]


@pytest.fixture
def world(project: Project, lead: User, admin: User, rate: Callable[..., Any]) -> World:
    found = World(project, lead, admin, rate)
    found.made["token"] = authentication.create_token(user=lead)
    found.item()
    return found


# --- how each is done


def _sign_in(world: World) -> None:
    Client(REMOTE_ADDR=FROM).post("/sign-in/", {"username": "lead", "password": PASSWORD})


def _fail(world: World) -> None:
    Client(REMOTE_ADDR=FROM).post("/sign-in/", {"username": "lead", "password": "x"})


def _hide_raters(world: World) -> None:
    world.post("people/identities/hide/", {"hidden": "1", "sure": "on"})


def _show_raters(world: World) -> None:
    _hide_raters(world)
    world.post("people/identities/hide/", {"hidden": "0", "sure": "on"})


def _look_who(world: World) -> None:
    _hide_raters(world)
    world.post("people/identities/look/", {"reason": "a complaint"})


def _invite(world: World) -> None:
    world.post("people/add/", {"username": "new", "role": "viewer", "account": "new"})


def _offer(world: World) -> int:
    """Asked is the lead themselves, by another lead: so the actor is the same in all lines."""
    other = Project.objects.create(name="Another")
    offered = MemberOffer.objects.create(
        project=other, username="lead", user=world.lead, role="viewer", made_at=timezone.now()
    )
    return offered.pk


def _join(world: World) -> None:
    world.post(f"/offers/{_offer(world)}/", {"do": "accept", "role": "viewer"})


def _ask(world: World) -> None:
    world.post("people/add/", {"username": "new", "role": "viewer", "account": "existing"})


def _withdraw(world: World) -> None:
    _ask(world)
    world.post(f"people/offers/{MemberOffer.objects.get().pk}/withdraw/")


def _accept(world: World) -> None:
    new = User.objects.create(username="new", password="!")
    uid = urlsafe_base64_encode(force_bytes(new.pk))
    client = Client(REMOTE_ADDR=FROM)
    link = f"/invitations/{uid}/{default_token_generator.make_token(new)}/"
    form = client.get(link, follow=True)
    both = {"new_password1": "a new long password", "new_password2": "a new long password"}
    assert client.post(form.request["PATH_INFO"], both).status_code == 302


def _change_password(world: World) -> None:
    both = {"new_password1": "a new long password", "new_password2": "a new long password"}
    world.post("/password/", {"old_password": PASSWORD, "revoke_tokens": "on", **both})


def _make_token(world: World) -> None:
    asked = {"scope": "read", "days": "30", "password": PASSWORD, "project": world.project.pk}
    world.post("/tokens/", asked)


def _revoke(world: World) -> None:
    world.post(f"/tokens/{ApiToken.objects.get().pk}/revoke/")


def _change(world: World, path: str, **fields: Any) -> None:
    """Send a page's form as it stands but for these fields."""
    form = world.browser().get(world.at(path)).context["form"]
    stands = {name: form[name].value() for name in form.fields}
    sent = {name: value for name, value in stands.items() if value not in (None, "")}
    world.post(path, {name: value for name, value in (sent | fields).items() if value is not False})


def _act(world: World, do: str) -> None:
    act = GoldAct.objects.create(
        question=world.project.questions.get(),
        rater=world.rater(),
        step="warn",
        state="proposed",
        evidence=30.0,
        answers=9,
        made_at=timezone.now(),
    )
    world.post(f"gold/acts/{act.pk}/", {"do": do, "reason": "was new"})


def _grant(world: World) -> None:
    Item.objects.filter(pk=world.item().pk).update(body={"text": "x"}, has_content=True)
    _gold(world)
    _change(world, "exams/", most="1", everybody=False)
    world.post(f"exams/{world.rater().pk}/", {"do": "grant", "reason": "was ill"})


def _categories(world: World) -> None:
    labels = ["none", "small", "major", "critical"]
    sent: dict[str, Any] = {"scale": "ordinal", "seen_version": "1"}
    sent |= {"c-TOTAL_FORMS": "4", "c-INITIAL_FORMS": "4"}
    for place, label in enumerate(labels):
        one = {"code": place, "label": label, "value": place, "hotkey": "", "ORDER": place + 1}
        sent |= {f"c-{place}-{name}": str(value) for name, value in one.items()}
    world.post("setup/questions/severity/categories/", sent)


def _weights(world: World) -> None:
    sent = {"weights": "linear", "seen_version": "1"}
    world.post("setup/questions/severity/weights/", sent)


def _new_question(world: World) -> None:
    sent = {"text": "Which tone?", "key": "tone", "scale": "nominal"}
    sent |= {"c-TOTAL_FORMS": "2", "c-INITIAL_FORMS": "0"}
    sent |= {"c-0-label": "kind", "c-1-label": "rude", "c-0-ORDER": "1", "c-1-ORDER": "2"}
    world.post("setup/new-question/", sent)


def _gold(world: World) -> None:
    world.post(f"item/{world.item().pk}/gold/severity/", {"code": "2"})


def _retire_gold(world: World) -> None:
    question = world.project.questions.get()
    gold.set_gold_answer(item=world.item(), question=question, answer=[2], by=None)
    world.post(f"item/{world.item().pk}/gold/severity/", {"do": "retire"})


def _resume(world: World) -> None:
    Rater.objects.filter(project=world.project).update(paused=True)
    world.post("people/act/", {"do": "resume", "person": f"r{world.rater().pk}"})


def _pause_by_api(world: World) -> None:
    world.rate(world.project.questions.get(), "i1", "ann", "minor")
    world.api("DELETE", "raters/ann/")


def _delete_rater_by_api(world: World) -> None:
    Rater.objects.create(project=world.project, key="idle")
    world.api("DELETE", "raters/idle/")


def _restore(world: World) -> None:
    world.post("chosen-items/", {"item": world.item().pk, "do": "withdraw"})
    world.post("chosen-items/", {"item": world.item().pk, "do": "restore"})


def _ask_again(world: World) -> None:
    world.api("POST", "items/", {"key": "i1", "body": {"text": "x"}})
    world.post("chosen-items/", {"item": world.item().pk, "do": "ask"})


def _send(world: World) -> None:
    question = world.project.questions.get()
    world.rate(question, "i1", "ann", "minor")
    sent = {"item": world.item().pk, "do": "decide", "question": question.key}
    world.post("chosen-items/", sent)


def _delete_item(world: World) -> None:
    world.post(f"item/{world.item().pk}/delete/", {"typed": "i1"})


def _reopen(world: World) -> None:
    world.post("archive/")
    world.post("archive/", {"do": "restore"})


def _new_project(world: World) -> None:
    sent = {"name": "Second", "overlap": "2", "time_zone": "UTC", "text": "Which tone?", "key": "t"}
    sent |= {"scale": "nominal", "c-TOTAL_FORMS": "2", "c-INITIAL_FORMS": "0"}
    sent |= {"c-0-label": "kind", "c-1-label": "rude", "c-0-ORDER": "1", "c-1-ORDER": "2"}
    world.post("/projects/new/", sent)


def _tie_by_api(world: World) -> None:
    other = Project.objects.create(name="Another")
    for user, role in ((world.lead, "lead"), (User.objects.create_user("helper"), "viewer")):
        Member.objects.create(project=other, user=user, role=role)
    world.api("POST", "raters/", [{"key": "bea", "username": "helper"}])


def _rename_rater(world: World) -> None:
    sent = {"name": "Anna", "kind": "human", "user": ""}
    world.post(f"people/raters/{world.rater().pk}/", sent)


def _admin_change_role(world: World) -> None:
    member = world.member("viewer")
    sent = {"user": member.user_id, "project": member.project_id, "role": "lead"}
    world.post(f"/admin/projects/member/{member.pk}/change/", sent, by=world.admin)


def _admin_inline(world: World) -> None:
    address = f"/admin/projects/project/{world.project.pk}/change/"
    form = world.browser(world.admin).get(address).context["adminform"].form
    sent = {name: form[name].value() for name in form.fields}
    sent = {name: value for name, value in sent.items() if value is not None and value is not False}
    members = list(Member.objects.filter(project=world.project).order_by("pk"))
    sent |= {"members-TOTAL_FORMS": len(members), "members-INITIAL_FORMS": len(members)}
    for place, one in enumerate(members):
        sent |= {f"members-{place}-id": one.pk, f"members-{place}-project": one.project_id}
        sent |= {f"members-{place}-user": one.user_id, f"members-{place}-role": one.role}
    sent[f"members-{len(members) - 1}-DELETE"] = "on"
    world.post(address, sent, by=world.admin)


def _admin_add_account(world: World) -> None:
    sent = {"username": "made", "password1": "a new long password", "usable_password": "true"}
    sent["password2"] = sent["password1"]
    world.post("/admin/auth/user/add/", sent, by=world.admin)


def _admin_password(world: World) -> None:
    sent = {"password1": "a new long password", "password2": "a new long password"}
    sent["usable_password"] = "true"
    world.post(f"/admin/auth/user/{world.lead.pk}/password/", sent, by=world.admin)


def _admin_delete(world: World) -> None:
    group = Group.objects.create(name="team")
    world.post(f"/admin/auth/group/{group.pk}/delete/", {"post": "yes"}, by=world.admin)


def _admin_revoke(world: World) -> None:
    sent = {"action": "revoke", "_selected_action": [ApiToken.objects.get().pk]}
    world.post("/admin/projects/apitoken/", sent, by=world.admin)


def _named(world: World) -> NamedView:
    sent = {"page": "dashboard", "name": "Mine", "query": "period=day"}
    world.post("views/", sent)
    return NamedView.objects.get()


def _shared(world: World) -> ViewLink:
    sent = {"do": "share", "until": timezone.localdate().isoformat()}
    world.post(f"views/{_named(world).pk}/", sent)
    return ViewLink.objects.get()


OTHER: Any = object()  # of another project
ROLE = {"member": "viewer", "role": "viewer"}

# act, how, whether it is of the project, before, after
DONE: list[tuple[str, Callable[[World], Any], bool, Any, Any]] = [
    ("sign_in", _sign_in, False, None, None),
    ("sign_out", lambda w: w.post("/sign-out/"), False, None, None),
    ("password_wrong", _fail, False, None, None),
    ("password_chosen", _accept, False, None, None),
    ("password_changed", _change_password, False, None, None),
    ("token_revoked", _change_password, False, ANYTHING, None),
    ("token_made", _make_token, True, None, ANYTHING),
    ("token_revoked", _revoke, False, ANYTHING, None),
    ("token_revoked", _admin_revoke, False, ANYTHING, None),
    ("member_added", _invite, True, None, {"member": "new", "role": "viewer"}),
    ("member_added", _tie_by_api, True, None, {"member": "helper", "role": "annotator"}),
    ("role_offered", _ask, True, None, {"member": "new", "role": "viewer"}),
    ("offer_withdrawn", _withdraw, True, {"member": "new", "role": "viewer"}, None),
    ("offer_accepted", _join, OTHER, None, {"member": "lead", "role": "viewer"}),
    (
        "offer_declined",
        lambda w: w.post(f"/offers/{_offer(w)}/", {"do": "decline"}),
        False,
        {"member": "lead", "role": "viewer"},
        None,
    ),
    ("link_made", _invite, True, None, {"member": "new"}),
    (
        "role_changed",
        lambda w: w.post(
            "people/act/",
            {"do": "role", "role": "annotator", "person": f"m{w.member('viewer').pk}"},
        ),
        True,
        ROLE,
        {"member": "viewer", "role": "annotator"},
    ),
    (
        "member_removed",
        lambda w: w.post("people/act/", {"do": "remove", "person": f"m{w.member('viewer').pk}"}),
        True,
        ROLE,
        None,
    ),
    ("rater_changed", _rename_rater, True, ANYTHING, ANYTHING),
    ("raters_put", _tie_by_api, True, {}, ANYTHING),
    (
        "rater_paused",
        lambda w: w.post("people/act/", {"do": "pause", "person": f"r{w.rater().pk}"}),
        True,
        {"rater": "ann", "paused": False},
        {"rater": "ann", "paused": True},
    ),
    ("rater_paused", _pause_by_api, True, ANYTHING, {"rater": "ann", "paused": True}),
    ("rater_resumed", _resume, True, ANYTHING, {"rater": "ann", "paused": False}),
    (
        "raters_hidden",
        _hide_raters,
        True,
        None,
        None,
    ),
    ("raters_shown", _show_raters, True, None, None),
    ("raters_looked_at", _look_who, True, None, None),
    ("rater_deleted", _delete_rater_by_api, True, {"key": "idle"}, None),
    ("project_made", _new_project, False, None, {"name": "Second"}),
    (
        "project_changed",
        lambda w: _change(w, "setup/", guidelines="Look twice."),
        True,
        {"guidelines": ""},
        {"guidelines": "Look twice."},
    ),
    (
        "project_changed",
        lambda w: w.api("PATCH", "", {"guidelines": "Look."}),
        True,
        {"guidelines": ""},
        {"guidelines": "Look."},
    ),
    (
        "view_named",
        _named,
        True,
        None,
        {"name": "Mine", "page": "dashboard", "query": "period=day"},
    ),
    (
        "view_renamed",
        lambda w: w.post(f"views/{_named(w).pk}/", {"do": "rename", "name": "Ours"}),
        True,
        {"name": "Mine"},
        {"name": "Ours"},
    ),
    (
        "view_deleted",
        lambda w: w.post(f"views/{_named(w).pk}/", {"do": "delete"}),
        True,
        {"name": "Mine", "page": "dashboard", "query": "period=day"},
        None,
    ),
    ("view_shared", _shared, True, None, ANYTHING),
    (
        "view_link_revoked",
        lambda w: w.post(f"views/links/{_shared(w).pk}/"),
        True,
        ANYTHING,
        None,
    ),
    ("project_archived", lambda w: w.post("archive/"), True, None, None),
    ("project_reopened", _reopen, True, None, None),
    ("question_added", _new_question, True, None, ANYTHING),
    (
        "question_changed",
        lambda w: w.post("setup/questions/severity/text/", {"text": "How bad?"}),
        True,
        {"text": "Which severity?"},
        {"text": "How bad?"},
    ),
    (
        "scale_changed",
        _weights,
        True,
        {"weights": "none", "weight_matrix": None},
        {"weights": "linear", "weight_matrix": None},
    ),
    ("scale_changed", _categories, True, ANYTHING, ANYTHING),
    (
        "labels_changed",
        lambda w: w.post("labels/method/", {"method": "majority", "with_models": "on"}),
        True,
        ANYTHING,
        {"method": "majority", "with_models": True},
    ),
    ("rules_changed", lambda w: _change(w, "labels/rules/", budget="10"), True, ANYTHING, ANYTHING),
    (
        "exam_rules_changed",
        lambda w: _change(w, "exams/", most="40", everybody=False),
        True,
        ANYTHING,
        ANYTHING,
    ),
    ("exam_granted", _grant, True, None, {"try": 1, "reason": "was ill"}),
    (
        "exam_waived",
        lambda w: w.post(f"exams/{w.rater().pk}/", {"do": "waive", "reason": "is sure"}),
        True,
        None,
        {"try": 1, "reason": "is sure"},
    ),
    ("gold_changed", _gold, True, {}, {"i1": "major"}),
    ("gold_changed", _retire_gold, True, {"i1": "major"}, {}),
    (
        "alarm_sensitivity_changed",
        lambda w: w.post("alarms/rules/", {"sensitivity": "early"}),
        True,
        {"sensitivity": "sure"},
        {"sensitivity": "early"},
    ),
    (
        "gold_bar_changed",
        lambda w: w.post("gold/bar/", {"bar": "0.9"}),
        True,
        ANYTHING,
        {"bar": 0.9, "rule": "off"},
    ),
    (
        "rater_written_to",
        lambda w: w.post("write/", {"rater": w.rater().pk, "text": "Look twice."}),
        True,
        None,
        ANYTHING,
    ),
    ("rater_warned", lambda w: _act(w, "carry_out"), True, None, ANYTHING),
    ("gold_overridden", lambda w: _act(w, "override"), True, None, ANYTHING),
    ("item_deleted", lambda w: w.api("DELETE", "items/i1/"), True, {"key": "i1"}, None),
    (
        "items_withdrawn",
        lambda w: w.post("chosen-items/", {"item": w.item().pk, "do": "withdraw"}),
        True,
        None,
        None,
    ),
    ("items_restored", _restore, True, None, None),
    ("items_asked_again", _ask_again, True, None, None),
    ("items_sent_to_decision", _send, True, None, None),
    ("deletion_asked", _delete_item, True, ANYTHING, None),
    (
        "deletion_asked",
        lambda w: w.post(f"people/raters/{w.rater().pk}/delete/", {"typed": "ann"}),
        True,
        ANYTHING,
        None,
    ),
    ("deletion_asked", lambda w: w.post("delete/", {"typed": "Reviews"}), True, ANYTHING, None),
    (
        "person_forgotten",
        lambda w: w.post(
            f"people/raters/{w.rater().pk}/delete/", {"typed": "ann", "how": "pseudonym"}
        ),
        True,
        None,
        None,
    ),
    (
        "person_exported",
        lambda w: w.get(f"people/raters/{w.rater().pk}/data.jsonl"),
        True,
        {"rater": "ann"},
        None,
    ),
    ("export", lambda w: w.get("data/export.csv"), True, None, None),
    ("export", lambda w: w.get("labels.csv"), True, None, None),
    ("export", lambda w: w.get("items.csv"), True, None, None),
    ("export", lambda w: w.get("raters.csv"), True, None, None),
    ("export", lambda w: w.get("trail.csv"), True, None, None),
    ("admin_changed", _admin_change_role, True, {"role": "viewer"}, {"role": "lead"}),
    ("admin_removed", _admin_inline, True, ANYTHING, None),
    ("admin_added", _admin_add_account, False, {}, ANYTHING),
    ("admin_changed", _admin_password, False, ANYTHING, ANYTHING),
    ("admin_removed", _admin_delete, False, {"was": "team"}, None),
]
# By commands and files alone: the command `person`, tests/ratings/importing; by somebody without an
# account: tests/metrics/views/saved_views/test_saved_views.py
ELSEWHERE = {"account_removed", "guidelines_numbered", "view_link_opened"}
# In several steps: tests/agreement_site/accounts
AT_THE_DOOR = {
    "password_forgotten",
    "password_reset",
    "email_confirmed",
    "account_made",
    "sign_in_failed",
    "sign_in_connected",
    "sign_in_disconnected",
    "second_factor_added",
    "second_factor_removed",
    "second_factor_wrong",
    "recovery_codes_made",
    "session_revoked",
}


@pytest.mark.parametrize(
    ("act", "do", "of_project", "before", "after"),
    DONE,
    ids=[f"{number}-{row[0]}" for number, row in enumerate(DONE)],
)
def test_the_act_writes_its_line(
    act: str, do: Callable[[World], Any], of_project: bool, before: Any, after: Any, world: World
) -> None:
    do(world)
    line = TrailLine.objects.filter(what=act).first()
    assert line is not None, [one.what for one in TrailLine.objects.all()]
    assert line.address == FROM
    if of_project is OTHER:
        assert line.project_id == Project.objects.latest("pk").pk
    elif act != "project_made":  # of the new one
        assert line.project_id == (world.project.pk if of_project else None)
    by = "admin" if do is _admin_revoke or act.startswith("admin_") else "lead"
    assert line.actor == {"password_wrong": "", "password_chosen": "new"}.get(act, by)
    for found, wanted in ((line.before, before), (line.after, after)):
        assert wanted is ANYTHING or found == wanted
    secrets = json.dumps([line.before, line.after, line.details])
    assert PASSWORD not in secrets
    assert "a new long password" not in secrets
    assert world.made["token"] not in secrets


def test_each_known_act_is_done_here() -> None:
    assert {row[0] for row in DONE} | ELSEWHERE | AT_THE_DOOR == set(ACTIONS)


def test_of_categories_and_accounts_the_values_are_kept(world: World) -> None:
    _categories(world)
    line: Any = TrailLine.objects.get(what="scale_changed")
    assert [one["label"] for one in line.before["categories"]][1] == "minor"
    assert [one["label"] for one in line.after["categories"]][1] == "small"
    _admin_password(world)
    line = TrailLine.objects.get(what="admin_changed")
    assert (line.details["model"], line.details["name"]) == ("auth.User", "lead")
    assert set(line.after.values()) == {"***"}


def test_a_rater_who_is_deleted_is_not_named(world: World) -> None:
    world.post(f"people/raters/{world.rater().pk}/delete/", {"typed": "ann"})
    line = TrailLine.objects.get(what="deletion_asked")
    assert "ann" not in json.dumps([line.before, line.after, line.details]).split('"')


def test_a_stranger_signs_out_without_a_line(client: Client) -> None:
    client.post("/sign-out/")
    assert not TrailLine.objects.exists()
