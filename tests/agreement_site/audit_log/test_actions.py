"""Tests that each action of the audit log, done by HTTP, records an entry.

The entry contains the actor, the address, the project, and the values before and after.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.contrib.auth.tokens import default_token_generator
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client, override_settings
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from rest_framework.test import APIClient

from agreement_site.audit_log.descriptions import ACTIONS
from agreement_site.models import AuditLogEntry
from events.models import Webhook
from metrics.models import SavedView, ShareLink
from projects.models import ApiToken, Approval, Item, Member, MemberOffer, Project, Rater
from projects.services import approvals, gold, tokens
from quality.models import GoldIntervention
from ratings.exports import jobs
from ratings.models import ExportRun, LabelStudioConnection
from tests.cast import PASSWORD, build_question_data

pytestmark = pytest.mark.django_db

CLIENT_ADDRESS = "10.9.8.7"
ANYTHING: Any = object()  # not compared


@dataclass
class AuditScenario:
    """A project with clients of its lead and its administrator, from one address."""

    project: Project
    lead: User
    admin: User
    rate: Callable[..., Any]
    created: dict[str, Any] = field(default_factory=dict)

    def create_browser(self, user: User | None = None) -> Client:
        """Return a browser in which the user, by default the lead, is signed in."""
        client = Client(REMOTE_ADDR=CLIENT_ADDRESS)
        client.force_login(user or self.lead)
        return client

    def post(self, path: str, data: dict[str, Any] | None = None, *, by: User | None = None) -> Any:
        """Post to an address of the project, or of the site when it begins with a slash."""
        response = self.create_browser(by).post(self.build_url(path), data or {})
        assert response.status_code in (200, 302), response.content
        return response

    def get(self, path: str) -> None:
        """Get a page and assert status 200."""
        assert self.create_browser().get(self.build_url(path)).status_code == 200

    def build_url(self, path: str) -> str:
        return path if path.startswith("/") else f"/projects/{self.project.pk}/{path}"

    def call_api(self, method: str, path: str, data: Any = None) -> None:
        """Call the API with the lead's token."""
        client = APIClient(REMOTE_ADDR=CLIENT_ADDRESS)
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {self.created['token']}")
        address = f"/api/v1/projects/{self.project.pk}/{path}"
        response = client.generic(
            method, address, json.dumps(data), content_type="application/json"
        )
        assert response.status_code in (200, 201), response.content

    def member(self, name: str) -> Member:
        return Member.objects.get(project=self.project, user__username=name)

    def rater(self, key: str = "ann") -> Rater:
        return Rater.objects.get(project=self.project, key=key)

    def item(self, key: str = "i1") -> Item:
        return Item.objects.get_or_create(project=self.project, key=key)[0]


@pytest.fixture
def scenario(project: Project, lead: User, admin: User, rate: Callable[..., Any]) -> AuditScenario:
    """Return the project with item i1 and a token of the lead."""
    new_scenario = AuditScenario(project, lead, admin, rate)
    new_scenario.created["token"] = tokens.create_token(user=lead)
    new_scenario.item()
    return new_scenario


# --- how each action is done


def _sign_in(scenario: AuditScenario) -> None:
    Client(REMOTE_ADDR=CLIENT_ADDRESS).post("/sign-in/", {"username": "lead", "password": PASSWORD})


def _fail_to_sign_in(scenario: AuditScenario) -> None:
    Client(REMOTE_ADDR=CLIENT_ADDRESS).post("/sign-in/", {"username": "lead", "password": "x"})


CSV_EXPORT = {"kind": "ratings", "format": "csv"}


def _download_export(scenario: AuditScenario) -> None:
    scenario.post("data/exports/", CSV_EXPORT)
    run = ExportRun.objects.get()
    jobs.run_export(run.pk)
    scenario.get(f"data/exports/{run.pk}/file/")


def _hide_raters(scenario: AuditScenario) -> None:
    scenario.post("people/pseudonyms/set/", {"hidden": "1", "confirm": "on"})


def _unhide_raters(scenario: AuditScenario) -> None:
    _hide_raters(scenario)
    scenario.post("people/pseudonyms/set/", {"hidden": "0", "confirm": "on"})


def _view_rater_identities(scenario: AuditScenario) -> None:
    _hide_raters(scenario)
    scenario.post("people/pseudonyms/disclose/", {"reason": "a complaint"})


def _request_approval(scenario: AuditScenario) -> None:
    form_data = {"action": "disclose_raters", "reason": "a complaint"}
    scenario.post("settings/approvals/", form_data)


def _decide_approval(decision: str) -> Callable[[AuditScenario], None]:
    def decide(scenario: AuditScenario) -> None:
        approval = approvals.request_approval(
            project=scenario.project,
            action="disclose_raters",
            reason="a complaint",
            by=scenario.member("viewer").user,
        )
        scenario.post(f"settings/approvals/{approval.pk}/", {"do": decision})

    return decide


def _use_approval(scenario: AuditScenario) -> None:
    _hide_raters(scenario)
    _request_approval(scenario)
    approval = Approval.objects.get()
    approvals.decide_approval(approval=approval, approved=True, by=scenario.member("viewer").user)
    with override_settings(SECOND_PERSON="lead"):
        scenario.post("people/pseudonyms/disclose/", {"reason": "a complaint"})


def _invite(scenario: AuditScenario) -> None:
    scenario.post("people/add/", {"username": "new", "role": "viewer", "account": "new"})


def _create_offer(scenario: AuditScenario) -> int:
    """Offer the lead a role in another project, so that the actor is the same in all entries."""
    other_project = Project.objects.create(name="Another")
    offered = MemberOffer.objects.create(
        project=other_project,
        username="lead",
        user=scenario.lead,
        role="viewer",
        created_at=timezone.now(),
    )
    return offered.pk


# Without the address itself, which may contain a secret.
WEBHOOK = {
    "host": "example.org",
    "format": "concord",
    "language": "",
    "kinds": [],
    "with_items": False,
    "paused": False,
}


def _create_webhook(scenario: AuditScenario) -> Webhook:
    scenario.post("settings/webhooks/", {"url": "https://example.org/hook"})
    return Webhook.objects.get()


def _act_on_webhook(scenario: AuditScenario, action: str) -> None:
    webhook = _create_webhook(scenario)
    scenario.post(f"settings/webhooks/{webhook.pk}/action/", {"do": action})


CONNECTION = {"state": "active", "write_back": "off"}


def _connect(scenario: AuditScenario, path: str, data: dict[str, str]) -> None:
    connection = LabelStudioConnection.objects.create(
        project=scenario.project,
        address="https://example.org",
        remote_project=1,
        state="active",
        next_at=timezone.now(),
        created_at=timezone.now(),
    )
    scenario.post(f"settings/connections/{connection.pk}/{path}", data)


GATE = {
    "gate": "release",
    "question": "severity",
    "rules": [{"measure": "coverage", "at_least": 0.5}],
}


def _post_gate(scenario: AuditScenario, path: str, name: str) -> None:
    rows = {"rules-0-measure": "coverage", "rules-0-limit": "0.5", "rules-0-filter": ""}
    counts = {"rules-TOTAL_FORMS": "1", "rules-INITIAL_FORMS": "0"}
    scenario.post(path, {"name": name, **rows, **counts})


def _create_gate(scenario: AuditScenario) -> None:
    _post_gate(scenario, "gates/", "release")


def _change_gate(scenario: AuditScenario) -> None:
    _create_gate(scenario)
    _post_gate(scenario, "gates/release/", "nightly")


def _delete_gate(scenario: AuditScenario) -> None:
    _create_gate(scenario)
    scenario.post("gates/release/delete/")


def _accept_offer(scenario: AuditScenario) -> None:
    scenario.post(f"/offers/{_create_offer(scenario)}/", {"do": "accept", "role": "viewer"})


def _offer_role(scenario: AuditScenario) -> None:
    scenario.post("people/add/", {"username": "new", "role": "viewer", "account": "existing"})


def _withdraw_offer(scenario: AuditScenario) -> None:
    _offer_role(scenario)
    scenario.post(f"people/offers/{MemberOffer.objects.get().pk}/withdraw/")


def _accept_invitation(scenario: AuditScenario) -> None:
    invited = User.objects.create(username="new", password="!")
    uid = urlsafe_base64_encode(force_bytes(invited.pk))
    client = Client(REMOTE_ADDR=CLIENT_ADDRESS)
    link = f"/invitations/{uid}/{default_token_generator.make_token(invited)}/"
    form = client.get(link, follow=True)
    passwords = {"new_password1": "a new long password", "new_password2": "a new long password"}
    assert client.post(form.request["PATH_INFO"], passwords).status_code == 302


def _change_password(scenario: AuditScenario) -> None:
    passwords = {"new_password1": "a new long password", "new_password2": "a new long password"}
    scenario.post("/password/", {"old_password": PASSWORD, "revoke_tokens": "on", **passwords})


def _create_token(scenario: AuditScenario) -> None:
    form_data = {
        "scope": "read",
        "days": "30",
        "password": PASSWORD,
        "project": scenario.project.pk,
    }
    scenario.post("/tokens/", form_data)


def _revoke_token(scenario: AuditScenario) -> None:
    scenario.post(f"/tokens/{ApiToken.objects.get().pk}/revoke/")


def _change_form(scenario: AuditScenario, path: str, **fields: Any) -> None:
    """Submit a page's form with its current values except for these fields."""
    form = scenario.create_browser().get(scenario.build_url(path)).context["form"]
    current = {name: form[name].value() for name in form.fields}
    form_data = {name: value for name, value in current.items() if value not in (None, "")}
    scenario.post(
        path, {name: value for name, value in (form_data | fields).items() if value is not False}
    )


def _decide_intervention(scenario: AuditScenario, do: str) -> None:
    intervention = GoldIntervention.objects.create(
        question=scenario.project.questions.get(),
        rater=scenario.rater(),
        step="warn",
        state="proposed",
        evidence=30.0,
        n_answers=9,
        created_at=timezone.now(),
    )
    scenario.post(f"gold/interventions/{intervention.pk}/", {"do": do, "reason": "was new"})


def _grant_exam(scenario: AuditScenario) -> None:
    Item.objects.filter(pk=scenario.item().pk).update(body={"text": "x"}, has_content=True)
    _set_gold_answer(scenario)
    _change_form(scenario, "exams/", max_answers="1", everybody=False)
    scenario.post(f"exams/{scenario.rater().pk}/", {"do": "grant", "reason": "was ill"})


def _change_categories(scenario: AuditScenario) -> None:
    labels = ["none", "small", "major", "critical"]
    form_data: dict[str, Any] = {"scale": "ordinal", "seen_version": "1"}
    form_data |= {"c-TOTAL_FORMS": "4", "c-INITIAL_FORMS": "4"}
    for position, label in enumerate(labels):
        category = {
            "code": position,
            "label": label,
            "value": position,
            "hotkey": "",
            "ORDER": position + 1,
        }
        form_data |= {f"c-{position}-{name}": str(value) for name, value in category.items()}
    form_data |= {"text": "Which severity?", "weights": "none"}
    scenario.post("settings/questions/severity/", form_data)


def _change_weights(scenario: AuditScenario) -> None:
    form_data = {"weights": "linear", "seen_version": "1"}
    scenario.post("settings/questions/severity/weights/", form_data)


def _create_question(scenario: AuditScenario) -> None:
    form_data = {"text": "Which tone?", "key": "tone", "scale": "nominal"}
    form_data |= {"c-TOTAL_FORMS": "2", "c-INITIAL_FORMS": "0"}
    form_data |= {"c-0-label": "kind", "c-1-label": "rude", "c-0-ORDER": "1", "c-1-ORDER": "2"}
    scenario.post("settings/new-question/", form_data)


def _set_gold_answer(scenario: AuditScenario) -> None:
    scenario.post(f"item/{scenario.item().pk}/gold/severity/", {"code": "2"})


def _retire_gold_answer(scenario: AuditScenario) -> None:
    question = scenario.project.questions.get()
    gold.set_gold_answer(item=scenario.item(), question=question, answer=[2], by=None)
    scenario.post(f"item/{scenario.item().pk}/gold/severity/", {"action": "retire"})


def _resume_rater(scenario: AuditScenario) -> None:
    Rater.objects.filter(project=scenario.project).update(paused=True)
    scenario.post("people/action/", {"do": "resume", "person": f"r{scenario.rater().pk}"})


def _pause_rater_by_api(scenario: AuditScenario) -> None:
    scenario.rate(scenario.project.questions.get(), "i1", "ann", "minor")
    scenario.call_api("DELETE", "raters/ann/")


def _delete_rater_by_api(scenario: AuditScenario) -> None:
    Rater.objects.create(project=scenario.project, key="idle")
    scenario.call_api("DELETE", "raters/idle/")


def _restore_item(scenario: AuditScenario) -> None:
    scenario.post("selected-items/", {"item": scenario.item().pk, "action": "withdraw"})
    scenario.post("selected-items/", {"item": scenario.item().pk, "action": "restore"})


def _request_ratings(scenario: AuditScenario) -> None:
    scenario.call_api("POST", "items/", {"key": "i1", "body": {"text": "x"}})
    scenario.post("selected-items/", {"item": scenario.item().pk, "action": "request_ratings"})


def _send_to_review(scenario: AuditScenario) -> None:
    question = scenario.project.questions.get()
    scenario.rate(question, "i1", "ann", "minor")
    form_data = {"item": scenario.item().pk, "action": "decide", "question": question.key}
    scenario.post("selected-items/", form_data)


def _put_item(scenario: AuditScenario) -> None:
    scenario.call_api("POST", "items/", {"key": "new", "body": {"text": "x"}})
    scenario.call_api("POST", "items/", {"key": "new", "body": {"text": "x"}})  # changes nothing
    [entry] = AuditLogEntry.objects.filter(action="items_upserted")
    assert entry.details == {"created": 1, "changed": 0}


def _create_item_by_form(scenario: AuditScenario) -> None:
    form_data = {
        "key": "new",
        "parts-TOTAL_FORMS": "1",
        "parts-INITIAL_FORMS": "0",
        "parts-0-value": "x",
        "attributes-TOTAL_FORMS": "0",
        "attributes-INITIAL_FORMS": "0",
    }
    scenario.post("new-item/", form_data)


def _upload_media(scenario: AuditScenario) -> None:
    image = SimpleUploadedFile("cat.png", b"\x89PNG\r\n\x1a\n" + b"x" * 40)
    scenario.post("data/media/", {"files": image})


def _delete_item(scenario: AuditScenario) -> None:
    scenario.post(f"item/{scenario.item().pk}/delete/", {"confirmation": "i1"})


def _reopen_project(scenario: AuditScenario) -> None:
    scenario.post("archive/")
    scenario.post("archive/", {"do": "restore"})


def _create_project(scenario: AuditScenario) -> None:
    form_data = {
        "name": "Second",
        "overlap": "2",
        "time_zone": "UTC",
        "text": "Which tone?",
        "key": "t",
    }
    form_data |= {"scale": "nominal", "c-TOTAL_FORMS": "2", "c-INITIAL_FORMS": "0"}
    form_data |= {"c-0-label": "kind", "c-1-label": "rude", "c-0-ORDER": "1", "c-1-ORDER": "2"}
    scenario.post("/projects/new/", form_data)


def _link_rater_by_api(scenario: AuditScenario) -> None:
    other_project = Project.objects.create(name="Another")
    for user, role in ((scenario.lead, "lead"), (User.objects.create_user("helper"), "viewer")):
        Member.objects.create(project=other_project, user=user, role=role)
    scenario.call_api("POST", "raters/", [{"key": "bea", "username": "helper"}])


def _rename_rater(scenario: AuditScenario) -> None:
    form_data = {"name": "Anna", "kind": "human", "user": ""}
    scenario.post(f"people/raters/{scenario.rater().pk}/", form_data)


def _change_role_in_admin(scenario: AuditScenario) -> None:
    member = scenario.member("viewer")
    form_data = {"user": member.user_id, "project": member.project_id, "role": "lead"}
    scenario.post(f"/admin/projects/member/{member.pk}/change/", form_data, by=scenario.admin)


def _remove_member_in_admin(scenario: AuditScenario) -> None:
    address = f"/admin/projects/project/{scenario.project.pk}/change/"
    form = scenario.create_browser(scenario.admin).get(address).context["adminform"].form
    form_data = {name: form[name].value() for name in form.fields}
    form_data = {
        name: value for name, value in form_data.items() if value is not None and value is not False
    }
    members = list(Member.objects.filter(project=scenario.project).order_by("pk"))
    form_data |= {"members-TOTAL_FORMS": len(members), "members-INITIAL_FORMS": len(members)}
    for position, member in enumerate(members):
        form_data |= {
            f"members-{position}-id": member.pk,
            f"members-{position}-project": member.project_id,
        }
        form_data |= {
            f"members-{position}-user": member.user_id,
            f"members-{position}-role": member.role,
        }
    form_data[f"members-{len(members) - 1}-DELETE"] = "on"
    scenario.post(address, form_data, by=scenario.admin)


def _add_account_in_admin(scenario: AuditScenario) -> None:
    form_data = {"username": "made", "password1": "a new long password", "usable_password": "true"}
    form_data["password2"] = form_data["password1"]
    scenario.post("/admin/auth/user/add/", form_data, by=scenario.admin)


def _set_password_in_admin(scenario: AuditScenario) -> None:
    form_data = {"password1": "a new long password", "password2": "a new long password"}
    form_data["usable_password"] = "true"
    scenario.post(f"/admin/auth/user/{scenario.lead.pk}/password/", form_data, by=scenario.admin)


def _delete_group_in_admin(scenario: AuditScenario) -> None:
    group = Group.objects.create(name="team")
    scenario.post(f"/admin/auth/group/{group.pk}/delete/", {"post": "yes"}, by=scenario.admin)


def _revoke_token_in_admin(scenario: AuditScenario) -> None:
    form_data = {"action": "revoke", "_selected_action": [ApiToken.objects.get().pk]}
    scenario.post("/admin/projects/apitoken/", form_data, by=scenario.admin)


def _save_view(scenario: AuditScenario) -> SavedView:
    form_data = {"page": "dashboard", "name": "Mine", "query": "period=day"}
    scenario.post("views/", form_data)
    return SavedView.objects.get()


def _share_view(scenario: AuditScenario) -> ShareLink:
    form_data = {"do": "share", "until": timezone.localdate().isoformat()}
    scenario.post(f"views/{_save_view(scenario).pk}/", form_data)
    return ShareLink.objects.get()


OTHER_PROJECT: Any = object()  # of another project
VIEWER_ROLE = {"member": "viewer", "role": "viewer"}

# Action, function, whether it belongs to the project, before, after.
CASES: list[tuple[str, Callable[[AuditScenario], Any], bool, Any, Any]] = [
    ("sign_in", _sign_in, False, None, None),
    ("sign_out", lambda w: w.post("/sign-out/"), False, None, None),
    ("password_rejected", _fail_to_sign_in, False, None, None),
    ("password_set", _accept_invitation, False, None, None),
    ("password_changed", _change_password, False, None, None),
    ("token_revoked", _change_password, False, ANYTHING, None),
    ("token_created", _create_token, True, None, ANYTHING),
    ("token_revoked", _revoke_token, False, ANYTHING, None),
    ("token_revoked", _revoke_token_in_admin, False, ANYTHING, None),
    ("member_added", _invite, True, None, {"member": "new", "role": "viewer"}),
    ("member_added", _link_rater_by_api, True, None, {"member": "helper", "role": "annotator"}),
    ("role_offered", _offer_role, True, None, {"member": "new", "role": "viewer"}),
    ("offer_withdrawn", _withdraw_offer, True, {"member": "new", "role": "viewer"}, None),
    ("offer_accepted", _accept_offer, OTHER_PROJECT, None, {"member": "lead", "role": "viewer"}),
    (
        "offer_declined",
        lambda w: w.post(f"/offers/{_create_offer(w)}/", {"do": "decline"}),
        False,
        {"member": "lead", "role": "viewer"},
        None,
    ),
    ("invitation_link_created", _invite, True, None, {"member": "new"}),
    (
        "role_changed",
        lambda w: w.post(
            "people/action/",
            {"do": "role", "role": "annotator", "person": f"m{w.member('viewer').pk}"},
        ),
        True,
        VIEWER_ROLE,
        {"member": "viewer", "role": "annotator"},
    ),
    (
        "member_removed",
        lambda w: w.post("people/action/", {"do": "remove", "person": f"m{w.member('viewer').pk}"}),
        True,
        VIEWER_ROLE,
        None,
    ),
    ("rater_changed", _rename_rater, True, ANYTHING, ANYTHING),
    ("raters_upserted", _link_rater_by_api, True, {}, ANYTHING),
    (
        "rater_paused",
        lambda w: w.post("people/action/", {"do": "pause", "person": f"r{w.rater().pk}"}),
        True,
        {"rater": "ann", "paused": False},
        {"rater": "ann", "paused": True},
    ),
    ("rater_paused", _pause_rater_by_api, True, ANYTHING, {"rater": "ann", "paused": True}),
    ("rater_resumed", _resume_rater, True, ANYTHING, {"rater": "ann", "paused": False}),
    (
        "raters_hidden",
        _hide_raters,
        True,
        None,
        None,
    ),
    ("raters_unhidden", _unhide_raters, True, None, None),
    ("rater_identities_viewed", _view_rater_identities, True, None, None),
    ("approval_requested", _request_approval, True, None, ANYTHING),
    ("approval_given", _decide_approval("approve"), True, None, ANYTHING),
    ("approval_refused", _decide_approval("reject"), True, None, ANYTHING),
    ("approval_used", _use_approval, True, None, ANYTHING),
    ("rater_deleted", _delete_rater_by_api, True, {"key": "idle"}, None),
    ("project_created", _create_project, False, None, {"name": "Second"}),
    (
        "project_changed",
        lambda w: _change_form(w, "settings/guidelines/", guidelines="Look twice."),
        True,
        {"guidelines": ""},
        {"guidelines": "Look twice."},
    ),
    (
        "project_changed",
        lambda w: w.call_api("PATCH", "", {"guidelines": "Look."}),
        True,
        {"guidelines": ""},
        {"guidelines": "Look."},
    ),
    (
        "view_saved",
        _save_view,
        True,
        None,
        {"name": "Mine", "page": "dashboard", "query": "period=day"},
    ),
    (
        "view_renamed",
        lambda w: w.post(f"views/{_save_view(w).pk}/", {"do": "rename", "name": "Ours"}),
        True,
        {"name": "Mine"},
        {"name": "Ours"},
    ),
    (
        "view_deleted",
        lambda w: w.post(f"views/{_save_view(w).pk}/", {"do": "delete"}),
        True,
        {"name": "Mine", "page": "dashboard", "query": "period=day"},
        None,
    ),
    ("view_shared", _share_view, True, None, ANYTHING),
    (
        "share_link_revoked",
        lambda w: w.post(f"views/links/{_share_view(w).pk}/"),
        True,
        ANYTHING,
        None,
    ),
    ("webhook_created", _create_webhook, True, None, WEBHOOK),
    (
        "webhook_changed",
        lambda w: _act_on_webhook(w, "pause"),
        True,
        WEBHOOK,
        {**WEBHOOK, "paused": True},
    ),
    ("webhook_secret_changed", lambda w: _act_on_webhook(w, "rotate"), True, None, None),
    ("webhook_sent", lambda w: _act_on_webhook(w, "test"), True, None, None),
    ("webhook_deleted", lambda w: _act_on_webhook(w, "delete"), True, WEBHOOK, None),
    (
        "connection_changed",
        lambda w: _connect(w, "", {"write_back": "predictions"}),
        True,
        CONNECTION,
        {**CONNECTION, "write_back": "predictions"},
    ),
    (
        "connection_deleted",
        lambda w: _connect(w, "action/", {"do": "delete"}),
        True,
        CONNECTION,
        None,
    ),
    ("gate_created", _create_gate, True, None, GATE),
    ("gate_changed", _change_gate, True, GATE, {**GATE, "gate": "nightly"}),
    ("gate_deleted", _delete_gate, True, GATE, None),
    ("project_archived", lambda w: w.post("archive/"), True, None, None),
    ("project_reopened", _reopen_project, True, None, None),
    ("question_added", _create_question, True, None, ANYTHING),
    (
        "question_changed",
        lambda w: w.post(
            "settings/questions/severity/",
            build_question_data(w.project.questions.get(), {"text": "How bad?"}),
        ),
        True,
        {"text": "Which severity?"},
        {"text": "How bad?"},
    ),
    (
        "scale_changed",
        _change_weights,
        True,
        {"weights": "none", "weight_matrix": None},
        {"weights": "linear", "weight_matrix": None},
    ),
    ("scale_changed", _change_categories, True, ANYTHING, ANYTHING),
    (
        "label_method_changed",
        lambda w: w.post("labels/method/", {"method": "majority", "with_models": "on"}),
        True,
        ANYTHING,
        {"method": "majority", "with_models": True},
    ),
    (
        "label_rules_changed",
        lambda w: _change_form(w, "labels/rules/", budget="10"),
        True,
        ANYTHING,
        {"budget": 10},  # only what changed
    ),
    (
        "exam_rules_changed",
        lambda w: _change_form(w, "exams/", max_answers="40", everybody=False),
        True,
        ANYTHING,
        ANYTHING,
    ),
    ("exam_retry_granted", _grant_exam, True, None, {"attempt": 1, "reason": "was ill"}),
    (
        "exam_waived",
        lambda w: w.post(f"exams/{w.rater().pk}/", {"do": "waive", "reason": "is sure"}),
        True,
        None,
        {"attempt": 1, "reason": "is sure"},
    ),
    ("gold_changed", _set_gold_answer, True, {}, {"i1": "major"}),
    ("gold_changed", _retire_gold_answer, True, {"i1": "major"}, {}),
    (
        "alert_sensitivity_changed",
        lambda w: w.post("alerts/settings/", {"sensitivity": "high"}),
        True,
        {"sensitivity": "low"},
        {"sensitivity": "high"},
    ),
    (
        "gold_settings_changed",
        lambda w: w.post("gold/settings/", {"pass_mark": "0.9"}),
        True,
        ANYTHING,
        {"pass_mark": 0.9, "rule": "off", "tolerance": 0.0},
    ),
    (
        "rater_messaged",
        lambda w: w.post("rater-messages/", {"rater": w.rater().pk, "text": "Look twice."}),
        True,
        None,
        ANYTHING,
    ),
    ("rater_warned", lambda w: _decide_intervention(w, "carry_out"), True, None, ANYTHING),
    (
        "gold_intervention_overridden",
        lambda w: _decide_intervention(w, "override"),
        True,
        None,
        ANYTHING,
    ),
    ("items_upserted", _put_item, True, None, None),
    ("items_upserted", _create_item_by_form, True, None, None),
    ("media_uploaded", _upload_media, True, None, None),
    ("item_deleted", lambda w: w.call_api("DELETE", "items/i1/"), True, {"key": "i1"}, None),
    (
        "items_withdrawn",
        lambda w: w.post("selected-items/", {"item": w.item().pk, "action": "withdraw"}),
        True,
        None,
        None,
    ),
    ("items_restored", _restore_item, True, None, None),
    ("ratings_requested", _request_ratings, True, None, None),
    ("items_sent_to_review", _send_to_review, True, None, None),
    ("deletion_requested", _delete_item, True, ANYTHING, None),
    (
        "deletion_requested",
        lambda w: w.post(f"people/raters/{w.rater().pk}/delete/", {"confirmation": "ann"}),
        True,
        ANYTHING,
        None,
    ),
    (
        "deletion_requested",
        lambda w: w.post("delete/", {"confirmation": "Reviews"}),
        True,
        ANYTHING,
        None,
    ),
    (
        "rater_pseudonymized",
        lambda w: w.post(
            f"people/raters/{w.rater().pk}/delete/", {"confirmation": "ann", "how": "pseudonym"}
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
    ("export", lambda w: w.get("audit-log.csv"), True, None, None),
    ("export", lambda w: w.post("data/exports/", CSV_EXPORT), True, None, None),
    ("export_downloaded", _download_export, True, None, None),
    ("admin_changed", _change_role_in_admin, True, {"role": "viewer"}, {"role": "lead"}),
    ("admin_removed", _remove_member_in_admin, True, ANYTHING, None),
    ("admin_added", _add_account_in_admin, False, {}, ANYTHING),
    ("admin_changed", _set_password_in_admin, False, ANYTHING, ANYTHING),
    ("admin_removed", _delete_group_in_admin, False, {"object": "team"}, None),
]
# Only by commands and files: the command `person`, tests/ratings/importing; by an anonymous user:
# tests/metrics/views/test_saved_views.py; by a worker: tests/events/webhooks; with
# another server: tests/ratings/label_studio
ACTIONS_TESTED_ELSEWHERE = {
    "account_removed",
    "connection_created",
    "gate_key_rotated",
    "guidelines_version_adopted",
    "share_link_opened",
    "webhook_paused",
}
# In several steps, see tests/agreement_site/accounts
SIGN_IN_ACTIONS = {
    "password_forgotten",
    "password_reset",
    "email_confirmed",
    "account_created",
    "sign_in_failed",
    "sign_in_connected",
    "sign_in_disconnected",
    "second_factor_added",
    "second_factor_removed",
    "second_factor_rejected",
    "recovery_codes_created",
    "session_revoked",
}


@pytest.mark.parametrize(
    ("action", "perform", "of_project", "before", "after"),
    CASES,
    ids=[f"{number}-{row[0]}" for number, row in enumerate(CASES)],
)
def test_action_records_an_entry(
    action: str,
    perform: Callable[[AuditScenario], Any],
    of_project: bool,
    before: Any,
    after: Any,
    scenario: AuditScenario,
) -> None:
    perform(scenario)
    entry = AuditLogEntry.objects.filter(action=action).first()
    assert entry is not None, [other_entry.action for other_entry in AuditLogEntry.objects.all()]
    assert entry.address == CLIENT_ADDRESS
    if of_project is OTHER_PROJECT:
        assert entry.project_id == Project.objects.latest("pk").pk
    elif action != "project_created":  # its entry belongs to the new project
        assert entry.project_id == (scenario.project.pk if of_project else None)
    actor = "admin" if perform is _revoke_token_in_admin or action.startswith("admin_") else "lead"
    assert entry.actor == {"password_rejected": "", "password_set": "new"}.get(action, actor)
    for recorded, expected in ((entry.before, before), (entry.after, after)):
        assert expected is ANYTHING or recorded == expected
    secrets = json.dumps([entry.before, entry.after, entry.details])
    assert PASSWORD not in secrets
    assert "a new long password" not in secrets
    assert scenario.created["token"] not in secrets


def test_every_action_is_tested() -> None:
    assert {row[0] for row in CASES} | ACTIONS_TESTED_ELSEWHERE | SIGN_IN_ACTIONS == set(ACTIONS)


def test_entry_keeps_categories_and_masks_passwords(scenario: AuditScenario) -> None:
    _change_categories(scenario)
    entry: Any = AuditLogEntry.objects.get(action="scale_changed")
    assert [category["label"] for category in entry.before["categories"]][1] == "minor"
    assert [category["label"] for category in entry.after["categories"]][1] == "small"
    _set_password_in_admin(scenario)
    entry = AuditLogEntry.objects.get(action="admin_changed")
    assert (entry.details["model"], entry.details["name"]) == ("auth.User", "lead")
    assert set(entry.after.values()) == {"***"}


def test_entry_does_not_name_a_deleted_rater(scenario: AuditScenario) -> None:
    scenario.post(f"people/raters/{scenario.rater().pk}/delete/", {"confirmation": "ann"})
    entry = AuditLogEntry.objects.get(action="deletion_requested")
    assert "ann" not in json.dumps([entry.before, entry.after, entry.details]).split('"')


def test_anonymous_sign_out_records_no_entry(client: Client) -> None:
    client.post("/sign-out/")
    assert not AuditLogEntry.objects.exists()
