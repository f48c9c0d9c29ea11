"""Tests that every invalid form is shown again with status 400."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django import forms
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.test import Client
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from projects.models import Item, Member, Project, Rater
from ratings.models import LabelStudioConnection
from tests.ratings.imports.wizard_client import WizardClient

GOOD_FILE = b"item,rater,label\ni1,ann,none\ni1,bea,minor\n"
EMPTY_FORMSET = {"c-TOTAL_FORMS": "0", "c-INITIAL_FORMS": "0"}

# Address (below the project when it has no leading slash) -> form data.
FORM_DATA: dict[str, dict[str, Any]] = {
    "/sign-in/": {"username": "nobody", "password": "wrong"},
    "/password/": {"old_password": "wrong"},
    "/tokens/": {"scope": "everything"},
    "/projects/new/": {"name": "", **EMPTY_FORMSET},
    "/projects/import/": {},
    "settings/": {"name": ""},
    "settings/new-question/": {"text": "", **EMPTY_FORMSET},
    "settings/webhooks/": {"url": "http://example.org/"},
    "settings/connections/": {"address": "https://example.org/", "token": ""},
    "settings/connections/7/": {"write_back": "everything"},
    "settings/questions/severity/": {"text": "", "scale": "none such", **EMPTY_FORMSET},
    "settings/guidelines/": {"guidelines": "x\x00"},
    "settings/checks/": {"gold_percent": "99"},
    "settings/questions/severity/weights/": {"weights": "none such"},
    "people/add/": {"username": ""},
    "people/add-model/": {"model-key": ""},
    "people/raters/RATER/": {"kind": "robot"},
    "people/pseudonyms/set/": {"hidden": "1"},
    "people/pseudonyms/disclose/": {"reason": ""},
    "copy/": {"name": ""},
    "settings/approvals/": {"action": "", "reason": ""},
    "rate/ITEM/": {},
    "rate/ITEM/skip/": {"reason": ""},
    "coefficients/headline/": {"band_scheme": "none such"},
    "reports/": {"as_of": "soon"},
    "rater-messages/": {"rater": "RATER", "text": ""},
    "exams/": {"p_fail": "0.8", "p_pass": "0.6"},
    "labels/rules/": {"certain_from": "2", "max_ratings": "4", "budget": "1"},
    "new-item/": {},
    "data/media/": {},
    "data/import/": {},
}
# Forms of a button or a list that offers no other values; an error is a message.
# ImportOptionsForm is the part of the import wizard's forms that all kinds of files share, GeneralForm that
# of a new project and of its settings.
FORMS_WITHOUT_PAGE = {"ExportForm", "ImportOptionsForm", "GeneralForm", "GuidelinesForm"}


@pytest.fixture
def client(project: Project, lead: User) -> Client:
    """Return the lead's browser after the annotation page has assigned item i1."""
    item = Item.objects.create(project=project, key="i1", body={"text": "x"})
    Rater.objects.filter(project=project, key="ann").update(user=lead)
    assert Member.objects.filter(project=project, user=lead, role=Member.Role.LEAD).exists()
    now = timezone.now()
    LabelStudioConnection.objects.create(
        pk=7, project=project, remote_project=1, hint_secret="s", next_at=now, created_at=now
    )
    client = Client()
    client.force_login(lead)
    assert client.get(f"/projects/{project.pk}/rate/").context["item"] == item
    return client


def build_path(address: str, project: Project) -> str:
    """Return the path of an address of FORM_DATA."""
    rater = Rater.objects.get(project=project, key="ann")
    item = Item.objects.get(project=project, key="i1")
    path = address.replace("RATER", str(rater.pk)).replace("ITEM", str(item.pk))
    return path if path.startswith("/") else f"/projects/{project.pk}/{path}"


def post_form(address: str, client: Client, project: Project) -> Any:
    """Return the response to the invalid form of this address."""
    if address == "/sign-in/":
        client = Client()
    rater = Rater.objects.get(project=project, key="ann")
    form_data = {
        name: str(rater.pk) if value == "RATER" else value
        for name, value in FORM_DATA[address].items()
    }
    return client.post(build_path(address, project), form_data)


@pytest.mark.parametrize("address", FORM_DATA)
def test_invalid_form_is_shown_again_with_400(
    address: str, client: Client, project: Project
) -> None:
    response = post_form(address, client, project)
    assert response.status_code == 400
    assert response.templates, "a page with the form, not the page of an error"
    assert response.templates[0].name != "error.html"


def test_invalid_password_on_an_invitation_gets_400(client: Client, make_user: Any) -> None:
    user = make_user("new")
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    link = f"/invitations/{uid}/{default_token_generator.make_token(user)}/"
    form = client.get(link, follow=True).redirect_chain[-1][0]
    assert client.post(form, {"new_password1": "short"}).status_code == 400


def test_invalid_steps_of_an_import_get_400(client: Client, project: Project) -> None:
    wizard = WizardClient(client, project)
    wizard.upload(GOOD_FILE)
    for step in ("read", "columns"):
        assert client.post(wizard.run_url, {"action": step, "encoding": "none"}).status_code == 400
    assert (
        wizard.choose_columns(target="new", question_key="q", question_text="?").status_code == 302
    )
    assert wizard.run_worker().state == "checked"
    assert (
        client.post(wizard.run_url, {"action": "start", "categories": "other"}).status_code == 400
    )


def iter_form_names(context: Any) -> Iterator[str]:
    """Yield the names of the forms that a page was rendered from."""
    for layer in context or ():
        for value in layer.flatten().values() if hasattr(layer, "flatten") else layer.values():
            if isinstance(value, forms.BaseForm):
                yield type(value).__name__
            elif isinstance(value, forms.BaseFormSet):
                yield value.form.__name__


def list_form_names() -> set[str]:
    """Return the names of all forms of the events, projects, ratings and metrics apps."""
    names = set()
    pending: list[Callable[..., Any]] = [forms.Form]
    while pending:
        form: Any = pending.pop()
        pending.extend(form.__subclasses__())
        if form.__module__.partition(".")[0] in ("events", "projects", "ratings", "metrics"):
            names.add(form.__name__)
    return names


def test_every_form_is_covered(client: Client, project: Project) -> None:
    form_names: set[str] = set()
    for address in FORM_DATA:
        form_names.update(iter_form_names(post_form(address, client, project).context))
    wizard = WizardClient(client, project)
    wizard.upload(GOOD_FILE)
    form_names.update(iter_form_names(wizard.get_page().context))
    wizard.choose_columns(target="new", question_key="q", question_text="?")
    wizard.run_worker()
    form_names.update(iter_form_names(wizard.get_page().context))
    assert list_form_names() - form_names == FORMS_WITHOUT_PAGE
