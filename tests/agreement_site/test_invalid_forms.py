"""A form that is not valid comes back with status 400, whichever page it stands on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django import forms
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.test import Client
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from projects.models import Item, Member, Project, Rater
from tests.ratings.imports.wizard_client import Wizard

GOOD_FILE = b"item,rater,label\ni1,ann,none\ni1,bea,minor\n"
NO_ROWS = {"c-TOTAL_FORMS": "0", "c-INITIAL_FORMS": "0"}

# address (of the project where it begins with no slash) -> what is sent
SENT: dict[str, dict[str, Any]] = {
    "/sign-in/": {"username": "nobody", "password": "wrong"},
    "/password/": {"old_password": "wrong"},
    "/tokens/": {"scope": "everything"},
    "/projects/new/": {"name": "", **NO_ROWS},
    "/projects/import/": {},
    "setup/": {"name": ""},
    "setup/new-question/": {"text": "", **NO_ROWS},
    "setup/questions/severity/text/": {"text": ""},
    "setup/questions/severity/categories/": {"scale": "none such", **NO_ROWS},
    "setup/questions/severity/weights/": {"weights": "none such"},
    "people/add/": {"username": ""},
    "people/raters/RATER/": {"kind": "robot"},
    "people/identities/hide/": {"hidden": "1"},
    "people/identities/look/": {"reason": ""},
    "rate/ITEM/": {},
    "rate/ITEM/skip/": {"reason": ""},
    "first/": {"band_scheme": "none such"},
    "reports/": {"as_of": "soon"},
    "write/": {"rater": "RATER", "text": ""},
    "exams/": {"p_fail": "0.8", "p_pass": "0.6"},
    "labels/rules/": {"sure_from": "2", "most": "4", "budget": "1"},
    "new-item/": {},
    "data/media/": {},
    "data/import/": {},
}
# Sent by a button or a list that offers no other values, and answered with a message.
# FileForm is the part of the import wizard's forms that every kind of file has.
WITHOUT_A_PAGE = {"FileForm"}


@pytest.fixture
def client(project: Project, lead: User) -> Client:
    item = Item.objects.create(project=project, key="i1", body={"text": "x"})
    Rater.objects.filter(project=project, key="ann").update(user=lead)
    assert Member.objects.filter(project=project, user=lead, role=Member.Role.LEAD).exists()
    client = Client()
    client.force_login(lead)
    assert client.get(f"/projects/{project.pk}/rate/").context["item"] == item
    return client


def sent(address: str, client: Client, project: Project) -> Any:
    """The answer to what is sent to the address."""
    if address == "/sign-in/":
        client = Client()
    rater = Rater.objects.get(project=project, key="ann")
    item = Item.objects.get(project=project, key="i1")
    path = address.replace("RATER", str(rater.pk)).replace("ITEM", str(item.pk))
    if not path.startswith("/"):
        path = f"/projects/{project.pk}/{path}"
    given = {
        name: str(rater.pk) if value == "RATER" else value for name, value in SENT[address].items()
    }
    return client.post(path, given)


@pytest.mark.parametrize("address", SENT)
def test_an_invalid_form_comes_back_with_400(
    address: str, client: Client, project: Project
) -> None:
    response = sent(address, client, project)
    assert response.status_code == 400
    assert response.templates, "a page with the form, not the page of an error"
    assert response.templates[0].name != "error.html"


def test_an_invalid_password_of_an_invitation(client: Client, make_user: Any) -> None:
    user = make_user("new")
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    link = f"/invitations/{uid}/{default_token_generator.make_token(user)}/"
    form = client.get(link, follow=True).redirect_chain[-1][0]
    assert client.post(form, {"new_password1": "short"}).status_code == 400


def test_the_steps_of_an_import(client: Client, project: Project) -> None:
    wizard = Wizard(client, project)
    wizard.upload(GOOD_FILE)
    for step in ("read", "columns"):
        assert client.post(wizard.address, {"do": step, "encoding": "none"}).status_code == 400
    assert wizard.choose(target="new", question_key="q", question_text="?").status_code == 302
    assert wizard.work().state == "checked"
    assert client.post(wizard.address, {"do": "start", "categories": "other"}).status_code == 400


def forms_in(context: Any) -> Iterator[str]:
    """The names of the forms that a page was made from."""
    for one in context or ():
        for value in one.flatten().values() if hasattr(one, "flatten") else one.values():
            if isinstance(value, forms.BaseForm):
                yield type(value).__name__
            elif isinstance(value, forms.BaseFormSet):
                yield value.form.__name__


def our_forms() -> set[str]:
    """The names of all forms of the site's own."""
    found = set()
    waiting: list[Callable[..., Any]] = [forms.Form]
    while waiting:
        form: Any = waiting.pop()
        waiting.extend(form.__subclasses__())
        if form.__module__.partition(".")[0] in ("projects", "ratings", "metrics"):
            found.add(form.__name__)
    return found


def test_no_form_is_left_out(client: Client, project: Project) -> None:
    seen: set[str] = set()
    for address in SENT:
        seen.update(forms_in(sent(address, client, project).context))
    wizard = Wizard(client, project)
    wizard.upload(GOOD_FILE)
    seen.update(forms_in(wizard.page().context))
    wizard.choose(target="new", question_key="q", question_text="?")
    wizard.work()
    seen.update(forms_in(wizard.page().context))
    assert our_forms() - seen == WITHOUT_A_PAGE
