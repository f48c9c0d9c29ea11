"""Every page of the site, filled: a world in which each has something to show, and the addresses of
all of them, as the URL configuration names them. Here are no tests: see test_every_page.py."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.core import mail
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from metrics import tasks as counting
from metrics.example import loader
from metrics.models import NamedView, Report
from metrics.saved_views import services
from projects import authentication
from projects.models import GoldAnswer, Item, Member, Project, Question, Rater
from projects.services.items.gold import set_gold_answer
from projects.services.question_validation import NewCategory, NewQuestion
from projects.services.questions import add_question
from quality import tasks
from quality.exams import settings as exam_settings
from quality.models import Alarm, Appeal, GoldAct, LabelRules
from quality.review import decisions
from ratings.annotation import rater_messages
from ratings.models import Exam, ImportRun, Rating
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings
from tests.cast import PASSWORD, make_user
from tests.ratings.imports.wizard_client import Wizard

# Settings without which there are no pages about mail and about a provider.
# Who signed in when the world was made has just done so, however long one looks.
WITH = {
    "SMTP_URL": "smtp://mail.example.org",
    "OIDC_SERVER_URL": "https://id.example.org",
    "ACCOUNT_REAUTHENTICATION_TIMEOUT": 3_600,
}
ALSO_RATED = 60  # items of the second question
KNOWN = 40  # gold answers


@dataclass(frozen=True)
class Visit:
    """``who`` looks ("": nobody who has signed in) at what stands at ``address``."""

    name: str
    who: str
    address: str


@dataclass
class World:
    project: Project
    clients: dict[str, Client] = field(default_factory=dict)
    # What may stand in an address: the parameter's name, or the route's name and it.
    values: dict[str, Any] = field(default_factory=dict)


# --- who looks at what; at what is not named here, a lead

WHO = {
    "rate": "ada",
    "rate_item": "ada",
    "my_ratings": "ada",
    "decisions": "ada",
    "exam": "eve",
    "operations": "admin",
    "style": "admin",
    "trail": "admin",
    "sign_in": "",
    "account_login": "",
    "invitation": "",
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

# Answers of another kind than a whole page are seen to be none. These lead elsewhere, or are not
# there in this world.
NO_PAGE = {
    "metrics": "figures for a machine that has the token",
    "fixed": "a file of the site",
    "media": "a file of the project",
    "trail_file": "a file, of the admin's",
    "import_file": "a picture in an archive",
    "import_project_file": "a picture in an archive",
    "rate_next": "the sheet alone, for rate.js",
    "rate_last": "the sheet alone, for rate.js",
    "import_project_progress": "a part of a page, of a project that is made of a file",
    "projects_below": "leads to the list of projects",
    "scorecard": "was a page, and leads to the raters",
    "mfa_login_webauthn": "data for the passkey's script",
    "mfa_reauthenticate_webauthn": "data for the passkey's script",
    "openid_connect_login": "leads to the provider",
    "openid_connect_callback": "is where the provider leads back to",
    "saml_login": "leads to the provider",
    "saml_finish_acs": "is where the provider leads back to",
    "saml_metadata": "a file for the provider",
}

# Their page stands where they lead to, for this session alone.
LEADS_ON = {"invitation", "account_reset_password_from_key"}

# What they must be asked besides.
QUERY = {
    "raters_write": "rater={rater_id}",
    "items_delete": "item={item_id}",
    "pair": "a=ben&b=goro",
}


def routes(patterns: Any = None, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Name and path of every address of the site but the API's and the admin's."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        path = prefix + str(pattern.pattern).lstrip("^").rstrip("$")
        if path.startswith(("api/", "admin/")):
            continue
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, path)
        elif isinstance(pattern, URLPattern):
            assert pattern.name, f"{path} needs a name"
            yield pattern.name, path


PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>|\(\?P<(\w+)>[^)]*\)")


def filled(name: str, path: str, values: dict[str, Any]) -> str:
    def value(found: re.Match[str]) -> str:
        word = found[1] or found[2]
        known = values.get(f"{name}.{word}", values.get(word))
        assert known is not None, f"say in every_page.py what stands for {word} in {name}"
        return str(known)

    return "/" + PARAMETER.sub(value, path)


# --- a world in which there is something of everything


PICTURE = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' width='1440' height='900'%3E%3Crect width='1440' height='900' fill='%234a7fb5'/%3E%3C/svg%3E"
KINDS: dict[str, Any] = {
    "picture": {"image": PICTURE},
    "html": {
        "html": "<p>Some <b>bold</b> words, and a <a href='https://example.org/'>link</a>.</p>"
    },
    "talk": {"turns": [{"role": "user", "text": "Hello?"}, {"role": "bot", "text": "Hello!"}]},
}


def make_world() -> World:
    lead, _admin = make_user("lead"), make_user("admin", is_staff=True, is_superuser=True)
    loader.load_examples(owner=lead)
    project = loader.find_example(lead)
    assert project is not None
    world = World(project)
    question = project.questions.get()
    for name in ("lead", "admin"):
        world.clients[name] = _signed_in(name)
    for name in ("ada", "ben", "eve"):
        _annotator(project, name)
        world.clients[name] = _signed_in(name)
    world.clients[""] = Client()
    Item.objects.bulk_create(
        Item(project=project, key=kind, body=body) for kind, body in KINDS.items()
    )
    for step in (_other_question, _quality, _desk, _views, _imports, _accounts):
        step(world, question, lead)
    _values(world, question)
    return world


def _signed_in(name: str) -> Client:
    client = Client()
    client.post("/sign-in/", {"username": name, "password": PASSWORD})
    return client


def _annotator(project: Project, name: str) -> Rater:
    user = make_user(name)
    Member.objects.create(project=project, user=user, role=Member.Role.ANNOTATOR)
    rater = Rater.objects.get_or_create(project=project, key=name)[0]
    rater.user = user
    rater.save()
    return rater


def _other_question(world: World, _question: Question, lead: User) -> None:
    labels = [NewCategory("yes", hotkey="y"), NewCategory("no", hotkey="n")]
    new = NewQuestion(key="fluent", text="Is the translation fluent?", categories=labels)
    question = add_question(project=world.project, question=new, by=lead)
    raters = list(world.project.raters.filter(key__in=("ben", "chen", "dina")))
    items = list(world.project.items.order_by("pk")[:ALSO_RATED])
    said = [
        Judgement(item.pk, rater.pk, int((place + (place % 5 == of)) % 3 == 0))
        for place, item in enumerate(items)
        for of, rater in enumerate(raters)
    ]
    record_ratings({question: said}, by=None, source="api")


def _quality(world: World, question: Question, lead: User) -> None:
    """Gold, an exam that eve does not pass, a rater to be paused, decisions and who contests."""
    project = world.project
    items = list(project.items.order_by("pk"))
    for item in items[-KNOWN:]:
        set_gold_answer(
            item=item, question=question, answer=[1], by=lead, explanation="See page 3."
        )
    exam_settings.set_exam_rules(question=question, by=lead, required=True, tries=1)
    LabelRules.objects.create(question=question, tell_raters=True, tell_after=0)
    counting.sweep_all()
    for sweep in (tasks.sweep_all, tasks.sweep_gold, tasks.sweep_alarms, tasks.sweep_raters):
        sweep()
    address = f"/projects/{project.pk}/"
    eve = world.clients["eve"]
    eve.post(f"{address}exam/")
    asked = list(project.questions.all())
    for _item in range(KNOWN):
        if not Exam.objects.filter(rater__key="eve", state="open").exists():
            break
        shown = re.search(r'data-item="(\d+)"', eve.get(f"{address}rate/").content.decode())
        assert shown, "the exam has another item"
        eve.post(f"{address}rate/{shown[1]}/", {f"question-{one.pk}": 0 for one in asked})
    ada = project.raters.get(key="ada")
    own = list(Item.objects.filter(ratings__rater=ada).order_by("pk")[:3])
    for item in own:
        decisions.create_decision(
            question=question, item=item, code=2, reason="as 3.1 says", by=lead
        )
    text = {"question": question.key, "text": "The text says otherwise."}
    for item in own[:2]:
        world.clients["ada"].post(f"{address}decisions/{item.pk}/", text)
    refused = {"state": "refused", "answer": "Read the second line."}
    first = Appeal.objects.order_by("pk")[0]
    world.clients["lead"].post(f"{address}appeals/{first.pk}/", refused)
    GoldAct.objects.create(
        question=question,
        rater=project.raters.get(key="ben"),
        step="pause",
        state="proposed",
        evidence=140.0,
        answers=16,
        made_at=timezone.now(),
    )


def _desk(world: World, _question: Question, lead: User) -> None:
    """Ada has rated, skipped and flagged; a lead wrote to her."""
    address = f"/projects/{world.project.pk}/rate/"
    ada = world.clients["ada"]
    questions = list(world.project.questions.all())
    for place in range(6):
        shown = re.search(r'data-item="(\d+)"', ada.get(address).content.decode())
        assert shown, "ada has something to rate"
        answers: dict[str, Any] = {f"question-{question.pk}": place % 2 for question in questions}
        if place == 2:
            ada.post(f"{address}{shown[1]}/skip/", {"reason": "The source is cut off."})
        else:
            answers |= {"flagged": "on", "comment": "Is this one sentence?"} if place == 3 else {}
            ada.post(f"{address}{shown[1]}/", answers)
    raters = [world.project.raters.get(key="ada")]
    rater_messages.send_messages(raters=raters, text="Please read section 2 again.", by=lead)


def _views(world: World, question: Question, lead: User) -> None:
    """A named view and a link to it, a report, and what pages ask a worker for."""
    lead_client, address = world.clients["lead"], f"/projects/{world.project.pk}/"
    view = services.create_saved_view(
        project=world.project, page="dashboard", name="By day", query="period=day", by=lead
    )
    until = timezone.now().date() + datetime.timedelta(days=7)
    world.values["secret"] = services.create_share_link(view=view, until=until, by=lead)
    lead_client.post(f"{address}reports/?question={question.key}")
    lead_client.get(f"{address}change/?question={question.key}")
    counting.sweep_all()
    tasks.sweep_alarms()


def _imports(world: World, _question: Question, _lead: User) -> None:
    """Files at each step of their way."""
    rows = "item,rater,label\nseg-0001,chen,minor\nseg-0002,chen,none\n"
    bad = rows + "seg-0003,chen,mnor\nseg-0004\n"
    steps: dict[str, Callable[[Wizard], Any]] = {
        "columns": lambda wizard: wizard.upload(rows.encode(), "march.csv"),
        "refused": lambda wizard: wizard.check(bad.encode(), make_new=""),
        "checked": lambda wizard: wizard.check(rows.encode()),
        "done": lambda wizard: wizard.all(rows.encode()),
    }
    for name, go in steps.items():
        go(Wizard(world.clients["lead"], world.project))
        world.values[f"run {name}"] = ImportRun.objects.latest("id").pk
    Wizard(world.clients["lead"]).upload(rows.encode(), "new.csv")
    world.values["import_project_run.run_id"] = ImportRun.objects.latest("id").pk


def _accounts(world: World, _question: Question, lead: User) -> None:
    from tests.agreement_site.accounts.test_second_factor import set_up

    authentication.create_token(user=lead)
    make_user("sure", email="sure@example.org")
    sure = world.clients["sure"] = _signed_in("sure")
    set_up(sure)
    world.clients["half in"] = _signed_in("sure")
    keeper = make_user("keeper")
    world.clients["keeper"] = _signed_in("keeper")
    asked = {"username": "keeper", "role": "viewer", "account": "existing"}
    world.clients["lead"].post(f"/projects/{world.project.pk}/people/add/", asked)
    credential = {"name": "laptop", "credential": {"clientExtensionResults": {}}}
    passkey = Authenticator.objects.create(user=keeper, type="webauthn", data=credential)
    world.values["mfa_remove_webauthn.pk"] = passkey.pk
    guest = make_user("guest", email="guest@example.org")
    guest.set_unusable_password()
    guest.save()
    Client().post("/password/forgotten/", {"email": "sure@example.org"})
    link = re.search(r"/password/forgotten/(\w+)-([^/\s]+)/", str(mail.outbox[-1].body))
    assert link
    world.values |= {
        "uidb64": urlsafe_base64_encode(force_bytes(guest.pk)),
        "token": default_token_generator.make_token(guest),
        "uidb36": link[1],
        "account_reset_password_from_key.key": link[2],
    }


def _values(world: World, question: Question) -> None:
    project = world.project
    rated = project.items.filter(ratings__question=question).order_by("pk")[0]
    ben = project.raters.get(key="ben")
    latest = Rating.objects.filter(rater__key="ada").order_by("-changed_at")[0]
    world.values |= {
        "project_id": project.pk,
        "item_id": rated.pk,
        "rate_item.item_id": latest.item_id,
        "rater_id": ben.pk,
        "rater.key": "goro",
        "item.key": rated.key,
        "key": question.key,
        "alarm_id": Alarm.objects.order_by("pk")[0].pk,
        "appeal_id": Appeal.objects.order_by("pk")[0].pk,
        "act_id": GoldAct.objects.order_by("pk")[0].pk,
        "member_id": project.members.order_by("pk")[0].pk,
        "view_id": NamedView.objects.get().pk,
        "gold_review.item_id": GoldAnswer.objects.order_by("pk")[0].item_id,
        "item_gold.item_id": GoldAnswer.objects.order_by("pk")[0].item_id,
        "run_id": world.values["run checked"],
        "name": "trend",
        "form": "json",
        "kind": "csv",
        "guidelines_version.number": 1,
        "number": Report.objects.get().pk,
        "link_id": 1, "offer_id": 1, "place": 0, "token_id": 1, "message_id": 1, "session_id": 1, "pk": 1,
        "digest": "0", "provider_id": "oidc",
    }  # fmt: skip


# --- every address


def also(world: World) -> list[tuple[str, str, str]]:
    """What a page shows of itself by its query, or at another of its kind: (name, who, address)."""
    at = f"/projects/{world.project.pk}/"
    opened = world.values["item_id"]
    runs = [(f"import {step}", "lead", f"{at}data/import/{world.values[f'run {step}']}/")
            for step in ("columns", "refused", "done")]  # fmt: skip
    return [
        *runs,
        ("second factor", "sure", "/account/second-factor/"),
        ("passkeys", "keeper", "/account/second-factor/"),
        ("asked to join", "keeper", "/"),
        ("nothing there", "lead", f"{at}items/none/"),
        ("not for raters", "ada", f"{at}people/"),
        ("link ended", "", "/shared/none/"),
        ("invitation over", "", "/invitations/MQ/x/"),
        ("dashboard", "lead", f"{at}?question={world.project.questions.all()[0].key}"),
        ("dashboard of few", "lead", f"{at}?question=fluent&period=day"),
        ("dashboard narrowed", "lead", f"{at}?kind=human&attribute=language%3Dde&weights=linear"),
        ("pairs", "lead", f"{at}pairs/"),
        ("items that differ", "lead", f"{at}items/?answers=differ&said=minor&item={opened}"),
        *((f"item of {kind}", "lead", f"{at}items/{kind}/") for kind in KINDS),
        ("an item that nobody rated", "lead", f"{at}items/seg-1500/"),
        ("raters narrowed", "lead", f"{at}raters/?show=few"),
        ("after an exam", "eve", f"{at}rate/"),
        ("the desk without anything", "ben", f"{at}my-ratings/"),
        ("trail of the project", "lead", f"{at}trail/"),
        ("admin", "admin", "/admin/"),
    ]


def visits(world: World) -> Iterator[Visit]:
    """What there is to see, found by asking: an address that answers no GET, or with no whole page,
    says so itself; another that leads to no page must be in NO_PAGE."""
    seen = set()
    for name, path in routes():
        if name in NO_PAGE:
            continue
        address, who = filled(name, path, world.values), WHO.get(name, "lead")
        if name in QUERY:
            address += f"?{QUERY[name].format_map(world.values)}"
        answer = world.clients[who].get(address)
        if address in seen or answer.status_code == 405 or not _is_page(answer):
            continue
        seen.add(address)
        assert answer.status_code == (302 if name in LEADS_ON else 200), (
            f"{name} answers {who or 'nobody'} with {answer.status_code} at {address}:"
            " give it somebody who sees a page, or say in NO_PAGE why there is none"
        )
        yield Visit(name, who, address)
    for name, who, address in also(world):
        world.clients[who].get(address)  # what it asks a worker for, it gets
        yield Visit(name, who, address)
    counting.sweep_all()


def _is_page(answer: Any) -> bool:
    if answer.status_code in (301, 302, 303):
        return True  # where a page was to be
    if answer.streaming or not answer.get("Content-Type", "").startswith("text/html"):
        return False
    return b"<html" in answer.content
