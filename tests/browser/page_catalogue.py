"""A world with content for every page, and the addresses of all pages of the site.

The addresses come from the URL configuration. It contains no tests: see test_every_page.py.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.core import mail
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from agreement_site.accounts import sign_in
from agreement_site.notifications import preferences
from events.models import Webhook
from events.webhooks import services as webhooks
from metrics import saved_views
from metrics import tasks as counting
from metrics.example import example_projects
from metrics.models import Report, SavedView
from projects.models import GoldAnswer, Item, Member, Project, Question, Rater
from projects.services import approvals, tokens
from projects.services.gold import set_gold_answer
from projects.services.question_validation import NewCategory, NewQuestion
from projects.services.questions import add_question
from quality import tasks
from quality.exams import exam_rules as exam_settings
from quality.gates import services as gates
from quality.models import Alert, Appeal, GoldIntervention, LabelRules
from quality.review import decisions
from ratings.annotation import rater_messages
from ratings.models import Exam, ImportRun, LabelStudioConnection, Rating
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings
from tests.cast import PASSWORD, make_user
from tests.ratings.imports.wizard_client import WizardClient

# Settings for the pages about mail and about a sign-in provider. With the long timeout the sign-ins
# of the world stay recent, however long the visits take.
SITE_SETTINGS = {
    "SMTP_URL": "smtp://mail.example.org",
    "OIDC_SERVER_URL": "https://id.example.org",
    "ACCOUNT_REAUTHENTICATION_TIMEOUT": 3_600,
}
N_SECOND_QUESTION_ITEMS = 60  # items of the second question
N_GOLD_ANSWERS = 40  # gold answers


@dataclass(frozen=True)
class PageVisit:
    """``user`` ("" for nobody) opens the page at ``address``."""

    name: str
    user: str
    address: str


@dataclass
class SampleWorld:
    """A filled project, signed-in clients, and values for the parameters of addresses."""

    project: Project
    clients: dict[str, Client] = field(default_factory=dict)
    # Values in addresses, by parameter name or by "route.parameter".
    values: dict[str, Any] = field(default_factory=dict)


# --- the user who opens a page; a lead opens the pages that are not listed

USER_BY_PAGE = {
    "rate": "ada",
    "rate_item": "ada",
    "my_ratings": "ada",
    "own_decisions": "ada",
    "own_exam": "eve",
    "system_status": "admin",
    "style_guide": "admin",
    "access_review": "admin",
    "audit_log": "admin",
    "site_webhooks": "admin",
    "site_webhook": "admin",
    "sign_in": "",
    "account_login": "",
    "invitation": "",
    "unsubscribe": "",
    "shared": "",
    "socialaccount_login_cancelled": "",
    "account_reset_password": "",
    "account_reset_password_done": "",
    "account_reset_password_from_key": "",
    "mfa_authenticate": "half in",
    "mfa_reauthenticate": "sure",
    "mfa_view_recovery_codes": "sure",
    "mfa_generate_recovery_codes": "sure",
    "mfa_deactivate_totp": "sure",
    "mfa_remove_webauthn": "keeper",
}

# Routes without a page, which lead elsewhere or do not exist in this world. Responses that are not
# complete pages are recognized without this list.
NOT_PAGES = {
    "metrics": "figures for a machine that has the token",
    "static_bundle": "a file of the site",
    "media": "a file of the project",
    "access_review_file": "a file, of the admin's",
    "audit_log_file": "a file, of the admin's",
    "export_file": "a file of ratings, which the sample world has not exported",
    "import_file": "a picture in an archive",
    "import_project_file": "a picture in an archive",
    "rate_next": "the sheet alone, for rate.js",
    "rate_undo": "the sheet alone, for rate.js",
    "import_project_progress": "a part of a page, of a project that is made of a file",
    "projects_redirect": "leads to the list of projects",
    "mfa_login_webauthn": "data for the passkey's script",
    "mfa_reauthenticate_webauthn": "data for the passkey's script",
    "openid_connect_login": "leads to the provider",
    "openid_connect_callback": "is where the provider leads back to",
    "saml_login": "leads to the provider",
    "saml_finish_acs": "is where the provider leads back to",
    "saml_metadata": "a file for the provider",
}

# They redirect to their page, which exists for this session only.
REDIRECTING_PAGES = {"invitation", "account_reset_password_from_key"}

# Query strings that these pages need.
QUERY_BY_PAGE = {
    "rater_messages": "rater={rater_id}",
    "items_delete": "item={item_id}",
    "pair": "a=ben&b=goro",
}


def iter_routes(patterns: Any = None, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield name and path of every address of the site, except those of the API and the admin."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        path = prefix + str(pattern.pattern).lstrip("^").rstrip("$")
        if path.startswith(("api/", "admin/")):
            continue
        if isinstance(pattern, URLResolver):
            yield from iter_routes(pattern.url_patterns, path)
        elif isinstance(pattern, URLPattern):
            assert pattern.name, f"{path} needs a name"
            yield pattern.name, path


PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>|\(\?P<(\w+)>[^)]*\)")


def fill_path(name: str, path: str, values: dict[str, Any]) -> str:
    """Return the path with its parameters replaced by values."""

    def get_value(match: re.Match[str]) -> str:
        parameter = match[1] or match[2]
        replacement = values.get(f"{name}.{parameter}", values.get(parameter))
        assert replacement is not None, (
            f"set the value of {parameter} in {name} in page_catalogue.py"
        )
        return str(replacement)

    return "/" + PARAMETER.sub(get_value, path)


# --- a world with content for every page


IMAGE_URL = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' width='1440' height='900'%3E%3Crect width='1440' height='900' fill='%234a7fb5'/%3E%3C/svg%3E"
BODY_BY_KIND: dict[str, Any] = {
    "picture": {"image": IMAGE_URL},
    "html": {
        "html": "<p>Some <b>bold</b> words, and a <a href='https://example.org/'>link</a>.</p>"
    },
    "talk": {"turns": [{"role": "user", "text": "Hello?"}, {"role": "bot", "text": "Hello!"}]},
}


def create_sample_world() -> SampleWorld:
    lead, _admin = make_user("lead"), make_user("admin", is_staff=True, is_superuser=True)
    example_projects.create_missing_examples(owner=lead)
    project = example_projects.find_example(lead)
    assert project is not None
    # Examples are read-only and left out of many pages: these count as real projects here.
    Project.objects.update(is_example=False)
    project.refresh_from_db()
    world = SampleWorld(project)
    question = project.questions.get()
    for name in ("lead", "admin"):
        world.clients[name] = _sign_in(name)
    for name in ("ada", "ben", "eve"):
        _create_annotator(project, name)
        world.clients[name] = _sign_in(name)
    world.clients[""] = Client()
    Item.objects.bulk_create(
        Item(project=project, key=kind, body=body) for kind, body in BODY_BY_KIND.items()
    )
    for step in (
        _add_second_question,
        _add_quality_data,
        _add_annotation_data,
        _add_view_data,
        _add_imports,
        _add_accounts,
        _add_webhooks,
        _add_connections,
        _add_gates,
    ):
        step(world, question, lead)
    _set_address_values(world, question)
    return world


def _sign_in(name: str) -> Client:
    client = Client()
    client.post("/sign-in/", {"username": name, "password": PASSWORD})
    return client


def _create_annotator(project: Project, name: str) -> Rater:
    user = make_user(name)
    Member.objects.create(project=project, user=user, role=Member.Role.ANNOTATOR)
    rater = Rater.objects.get_or_create(project=project, key=name)[0]
    rater.user = user
    rater.save()
    return rater


def _add_second_question(world: SampleWorld, _question: Question, lead: User) -> None:
    labels = [NewCategory("yes", hotkey="y"), NewCategory("no", hotkey="n")]
    new_question = NewQuestion(key="fluent", text="Is the translation fluent?", categories=labels)
    question = add_question(project=world.project, question=new_question, by=lead)
    raters = list(world.project.raters.filter(key__in=("ben", "chen", "dina")))
    items = list(world.project.items.order_by("pk")[:N_SECOND_QUESTION_ITEMS])
    judgements = [
        Judgement(item.pk, rater.pk, int((index + (index % 5 == rater_index)) % 3 == 0))
        for index, item in enumerate(items)
        for rater_index, rater in enumerate(raters)
    ]
    record_ratings({question: judgements}, by=None, source="api")


def _add_quality_data(world: SampleWorld, question: Question, lead: User) -> None:
    """Add gold answers, an exam that eve fails, a rater to pause, decisions and appeals."""
    project = world.project
    items = list(project.items.order_by("pk"))
    for item in items[-N_GOLD_ANSWERS:]:
        set_gold_answer(
            item=item,
            question=question,
            answer=[0 if item == items[-1] else 1],
            by=lead,
            explanation="See page 3.",
        )
    exam_settings.set_exam_rules(question=question, by=lead, required=True, max_attempts=1)
    LabelRules.objects.create(question=question, show_to_raters=True, show_after_days=0)
    counting.sweep_all()
    for sweep in (
        tasks.sweep_labels_and_queues,
        tasks.sweep_gold_and_repeats,
        tasks.sweep_alerts,
        tasks.sweep_raters,
    ):
        sweep()
    address = f"/projects/{project.pk}/"
    eve = world.clients["eve"]
    eve.post(f"{address}exam/")
    questions = list(project.questions.all())
    for _item in range(N_GOLD_ANSWERS):
        if not Exam.objects.filter(rater__key="eve", state="open").exists():
            break
        match = re.search(r'data-item="(\d+)"', eve.get(f"{address}rate/").content.decode())
        assert match, "the exam has another item"
        eve.post(
            f"{address}rate/{match[1]}/",
            {f"question-{exam_question.pk}": 0 for exam_question in questions},
        )
    ada = project.raters.get(key="ada")
    rated_items = list(Item.objects.filter(ratings__rater=ada).order_by("pk")[:3])
    for item in rated_items:
        decisions.create_decision(
            question=question, item=item, code=2, reason="as 3.1 says", by=lead
        )
    text = {"question": question.key, "text": "The text says otherwise."}
    for item in rated_items[:2]:
        world.clients["ada"].post(f"{address}decisions/{item.pk}/", text)
    refusal = {"state": "refused", "answer": "Read the second line."}
    first_appeal = Appeal.objects.order_by("pk")[0]
    world.clients["lead"].post(f"{address}appeals/{first_appeal.pk}/", refusal)
    GoldIntervention.objects.create(
        question=question,
        rater=project.raters.get(key="ben"),
        step="pause",
        state="proposed",
        evidence=140.0,
        n_answers=16,
        created_at=timezone.now(),
    )


def _add_annotation_data(world: SampleWorld, _question: Question, lead: User) -> None:
    """Let ada rate, skip and flag items, and a lead write to her."""
    address = f"/projects/{world.project.pk}/rate/"
    ada = world.clients["ada"]
    questions = list(world.project.questions.all())
    for index in range(6):
        match = re.search(r'data-item="(\d+)"', ada.get(address).content.decode())
        assert match, "ada has something to rate"
        answers: dict[str, Any] = {f"question-{question.pk}": index % 2 for question in questions}
        if index == 2:
            ada.post(f"{address}{match[1]}/skip/", {"reason": "The source is cut off."})
        else:
            answers |= {"flagged": "on", "comment": "Is this one sentence?"} if index == 3 else {}
            ada.post(f"{address}{match[1]}/", answers)
    raters = [world.project.raters.get(key="ada")]
    rater_messages.send_messages(raters=raters, text="Please read section 2 again.", by=lead)


def _add_view_data(world: SampleWorld, question: Question, lead: User) -> None:
    """Add a saved view with a link, a report, and the results that pages request from a worker."""
    lead_client, address = world.clients["lead"], f"/projects/{world.project.pk}/"
    view = saved_views.create_saved_view(
        project=world.project, page="dashboard", name="By day", query="period=day", by=lead
    )
    until = timezone.now().date() + datetime.timedelta(days=7)
    world.values["secret"] = saved_views.create_share_link(view=view, until=until, by=lead)
    lead_client.post(f"{address}reports/?question={question.key}")
    lead_client.get(f"{address}change/?question={question.key}")
    counting.sweep_all()
    tasks.sweep_alerts()


def _add_webhooks(world: SampleWorld, _question: Question, lead: User) -> None:
    """Add a webhook with deliveries in each state, and one of the site."""
    project, now = world.project, timezone.now()
    url = "https://hooks.example.org/concord?token=abc"
    kinds = ["alert.opened", "label.changed"]
    for owner, name in ((project, "webhook"), (None, "site_webhook")):
        webhook, _secret = webhooks.create_webhook(project=owner, url=url, kinds=kinds, by=lead)
        world.values[f"{name}.webhook_id"] = webhook.pk
        failure = {"at": now.isoformat(), "status": 500, "error": "", "answer": "Oh!", "seconds": 1}
        timeout = {**failure, "status": None, "error": "timeout", "answer": ""}
        for state, log in (
            ("delivered", [failure, {**failure, "status": 200, "answer": "ok"}]),
            ("failed", [failure, timeout]),
            ("pending", []),
        ):
            webhook.deliveries.create(
                state=state, log=log, created_at=now, next_at=now if state == "pending" else None
            )
    Webhook.objects.filter(project=project).update(failing_since=now)


def _add_connections(world: SampleWorld, _question: Question, lead: User) -> None:
    """Add a connection with Label Studio that has an error, and one that is being confirmed."""
    now = timezone.now()
    for number, state in ((12, "active"), (13, "mapping")):
        connection = LabelStudioConnection.objects.create(
            project=world.project,
            address="https://labels.example.org",
            remote_project=number,
            title="Moods of reviews",
            state=state,
            hint_secret="secret-part-of-the-address",
            counts={"created": 1200, "changed": 3, "withdrawn": 1, "written": 40},
            error={"kind": "busy", "values": {"status": 502}} if state == "active" else {},
            pulled_at=now if state == "active" else None,
            next_at=now + datetime.timedelta(hours=1),
            created_by=lead,
            created_at=now,
        )
        world.values.setdefault("label_studio_connection.connection_id", connection.pk)


def _add_gates(world: SampleWorld, question: Question, lead: User) -> None:
    """Add a gate with a rule of each kind of result, and one that nobody has decided yet."""
    rules: list[dict[str, Any]] = [
        {"measure": "headline", "at_least": 0.2},
        {"measure": "gwet_ac1", "at_least": 0.95, "filter": {"kind": "human"}},
        {"measure": "label_certainty", "at_least": 0.9},
        {"measure": "fleiss_kappa", "at_least": 0.5, "filter": {"from": "2099-01-01"}},
        {"measure": "coverage", "at_least": 1},
        {"measure": "open_alerts", "at_most": 0},
    ]
    for name, gate_rules in (("release", rules), ("nightly", rules[:1])):
        gates.create_gate(
            project=world.project, question=question, name=name, rules=gate_rules, by=lead
        )
        tasks.sweep_gates()
    world.values["gate_name"] = "release"


def _add_imports(world: SampleWorld, _question: Question, _lead: User) -> None:
    """Add a file at each step of the import."""
    rows = "item,rater,label\nseg-0001,chen,minor\nseg-0002,chen,none\n"
    invalid_rows = rows + "seg-0003,chen,mnor\nseg-0004\n"
    steps: dict[str, Callable[[WizardClient], Any]] = {
        "columns": lambda wizard: wizard.upload(rows.encode(), "march.csv"),
        "refused": lambda wizard: wizard.upload_and_validate(
            invalid_rows.encode(), create_missing=""
        ),
        "checked": lambda wizard: wizard.upload_and_validate(rows.encode()),
        "done": lambda wizard: wizard.import_file(rows.encode()),
    }
    for name, run_step in steps.items():
        run_step(WizardClient(world.clients["lead"], world.project))
        world.values[f"run {name}"] = ImportRun.objects.latest("id").pk
    WizardClient(world.clients["lead"]).upload(rows.encode(), "new.csv")
    world.values["import_project_run.run_id"] = ImportRun.objects.latest("id").pk


def _add_accounts(world: SampleWorld, _question: Question, lead: User) -> None:
    from tests.agreement_site.accounts.test_second_factor import set_up_app

    tokens.create_token(user=lead)
    make_user("sure", email="sure@example.org")
    sure = world.clients["sure"] = _sign_in("sure")
    set_up_app(sure)
    world.clients["half in"] = _sign_in("sure")
    keeper = make_user("keeper")
    world.clients["keeper"] = _sign_in("keeper")
    form_data = {"username": "keeper", "role": "viewer", "account": "existing"}
    world.clients["lead"].post(f"/projects/{world.project.pk}/people/add/", form_data)
    credential = {"name": "laptop", "credential": {"clientExtensionResults": {}}}
    passkey = Authenticator.objects.create(user=keeper, type="webauthn", data=credential)
    world.values["mfa_remove_webauthn.pk"] = passkey.pk
    guest = make_user("guest", email="guest@example.org")
    guest.set_unusable_password()
    guest.save()
    # The mail is sent at once, not by a thread after the response.
    threads = mock.Mock(submit=lambda run, *work: run(*work))
    with (
        mock.patch.object(sign_in, "_MAIL_THREADS", threads),
        mock.patch.object(sign_in, "connection"),
    ):
        Client().post("/password/forgotten/", {"email": "sure@example.org"})
    link = re.search(r"/password/forgotten/(\w+)-([^/\s]+)/", str(mail.outbox[-1].body))
    assert link
    world.values |= {
        "uidb64": urlsafe_base64_encode(force_bytes(guest.pk)),
        "token": default_token_generator.make_token(guest),
        "uidb36": link[1],
        "account_reset_password_from_key.key": link[2],
    }


def _set_address_values(world: SampleWorld, question: Question) -> None:
    project = world.project
    rated_item = project.items.filter(ratings__question=question).order_by("pk")[0]
    ben = project.raters.get(key="ben")
    latest = Rating.objects.filter(rater__key="ada").order_by("-changed_at")[0]
    lead = User.objects.get(username="lead")
    approval = approvals.request_approval(
        project=project,
        action="delete_project",
        reason="The study is over.",
        by=project.members.exclude(user=lead).order_by("pk")[0].user,
    )
    world.values |= {
        "project_id": project.pk,
        "unsubscribe.token": preferences.build_unsubscribe_url(lead, "digest").split("/")[-2],
        "item_id": rated_item.pk,
        "rate_item.item_id": latest.item_id,
        "rater_id": ben.pk,
        "rater.key": "goro",
        "item.key": rated_item.key,
        "key": question.key,
        "alert_id": Alert.objects.order_by("pk")[0].pk,
        "approval_id": approval.pk,
        "appeal_id": Appeal.objects.order_by("pk")[0].pk,
        "intervention_id": GoldIntervention.objects.order_by("pk")[0].pk,
        "member_id": project.members.order_by("pk")[0].pk,
        "view_id": SavedView.objects.get().pk,
        "gold_review.item_id": GoldAnswer.objects.order_by("pk")[0].item_id,
        "item_gold.item_id": GoldAnswer.objects.order_by("pk")[0].item_id,
        "run_id": world.values["run checked"],
        "name": "trend",
        "form": "json",
        "file_format": "json",
        "kind": "csv",
        "guidelines_version.number": 1,
        "number": Report.objects.get().pk,
        "link_id": 1, "offer_id": 1, "webhook_id": 1, "connection_id": 1, "export_id": 1, "label_studio_hint.secret": "x", "place": 0, "token_id": 1, "message_id": 1, "session_id": 1, "pk": 1,
        "digest": "0", "provider_id": "oidc",
    }  # fmt: skip


# --- every address


def list_additional_visits(world: SampleWorld) -> list[tuple[str, str, str]]:
    """Return (name, user, address) of pages with other queries or other objects."""
    base = f"/projects/{world.project.pk}/"
    item_id = world.values["item_id"]
    runs = [(f"import {step}", "lead", f"{base}data/import/{world.values[f'run {step}']}/")
            for step in ("columns", "refused", "done")]  # fmt: skip
    return [
        *runs,
        ("second factor", "sure", "/account/second-factor/"),
        ("passkeys", "keeper", "/account/second-factor/"),
        ("asked to join", "keeper", "/"),
        ("nothing there", "lead", f"{base}items/none/"),
        ("not for raters", "ada", f"{base}people/"),
        ("link ended", "", "/shared/none/"),
        ("invitation over", "", "/invitations/MQ/x/"),
        ("dashboard", "lead", f"{base}?question={world.project.questions.all()[0].key}"),
        ("dashboard of few", "lead", f"{base}?question=fluent&period=day"),
        ("dashboard narrowed", "lead", f"{base}?kind=human&attribute=language%3Dde&weights=linear"),
        ("pairs", "lead", f"{base}pairs/"),
        ("items that differ", "lead", f"{base}items/?answers=differ&answer=minor&item={item_id}"),
        *((f"item of {kind}", "lead", f"{base}items/{kind}/") for kind in BODY_BY_KIND),
        ("an item that nobody rated", "lead", f"{base}items/seg-1500/"),
        ("raters narrowed", "lead", f"{base}raters/?show=few"),
        ("after an exam", "eve", f"{base}rate/"),
        ("the desk without anything", "ben", f"{base}my-ratings/"),
        ("trail of the project", "lead", f"{base}audit-log/"),
        ("admin", "admin", "/admin/"),
    ]


def iter_visits(world: SampleWorld) -> Iterator[PageVisit]:
    """Request every address and yield the visits of those that show a page.

    An address that supports no GET, or returns no complete page, is left out; another one that
    shows no page must be in NOT_PAGES.
    """
    visited = set()
    for name, path in iter_routes():
        if name in NOT_PAGES:
            continue
        address, user = fill_path(name, path, world.values), USER_BY_PAGE.get(name, "lead")
        if name in QUERY_BY_PAGE:
            address += f"?{QUERY_BY_PAGE[name].format_map(world.values)}"
        response = world.clients[user].get(address)
        if address in visited or response.status_code == 405 or not _is_page(response):
            continue
        visited.add(address)
        assert response.status_code == (302 if name in REDIRECTING_PAGES else 200), (
            f"{name} answers {user or 'nobody'} with {response.status_code} at {address}:"
            " set a user who sees a page in USER_BY_PAGE, or add it to NOT_PAGES"
        )
        yield PageVisit(name, user, address)
    for name, user, address in list_additional_visits(world):
        world.clients[user].get(address)  # it requests results from a worker
        yield PageVisit(name, user, address)
    counting.sweep_all()


def _is_page(response: Any) -> bool:
    if response.status_code in (301, 302, 303):
        return True  # instead of a page
    if response.streaming or not response.get("Content-Type", "").startswith("text/html"):
        return False
    return b"<html" in response.content
