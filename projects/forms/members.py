"""Forms of members, raters and tokens."""

from __future__ import annotations

import datetime
import time
from typing import Any

from allauth.account.authentication import get_authentication_records
from django import forms
from django.conf import settings
from django.contrib.auth import authenticate
from django.core.validators import RegexValidator
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from projects.models import ApiToken, Member, Project, Rater
from projects.services.raters.fields import (
    MAX_GROUP_LENGTH,
    MAX_KEY_LENGTH,
    MAX_MODEL_LENGTH,
    MAX_NAME_LENGTH,
    MAX_VERSION_LENGTH,
)
from projects.services.row_validation import find_key_problem

MAX_INVITATIONS = 100  # in one form
RECENT_LOGIN_SECONDS = 5 * 60
MAX_TOKENS = 20  # active tokens per user


class TokenForm(forms.Form):
    """A new API token. Creating one requires the password, or a recent login through a provider."""

    scope = forms.ChoiceField(
        label=_("Permissions"), choices=[("write", _("read and write")), ("read", _("read only"))]
    )
    project = forms.ModelChoiceField(
        Project.objects.none(), label=_("Project"), required=False, empty_label=_("all my projects")
    )
    days = forms.TypedChoiceField(
        label=_("Expires"),
        coerce=int,
        choices=[
            ("30", _("in 30 days")),
            ("90", _("in 90 days")),
            ("365", _("in 1 year")),
        ],
        initial="90",
    )
    # A session that was left open must not be enough to get a token that is valid for a year.
    password = forms.CharField(
        label=_("Your password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request = request
        user: Any = request.user
        project: Any = self.fields["project"]
        project.queryset = Project.objects.visible_to(user).order_by("name")
        if not user.has_usable_password():
            del self.fields["password"]

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        user: Any = self.request.user
        if authenticate(self.request, username=user.get_username(), password=password) is None:
            raise forms.ValidationError(_("Wrong password."))
        return password

    def clean(self) -> dict[str, Any]:
        user: Any = self.request.user
        if not user.has_usable_password() and not _has_recent_login(self.request):
            raise forms.ValidationError(_("Sign in again first."))
        unrevoked = ApiToken.objects.filter(user=user.pk, revoked_at=None)
        if unrevoked.exclude(expires_at__lte=timezone.now()).count() >= MAX_TOKENS:
            message = _("You have %(most)s tokens, the maximum. Revoke one first.")
            raise forms.ValidationError(message % {"most": MAX_TOKENS})
        return self.cleaned_data

    def get_expires_at(self) -> datetime.datetime:
        return timezone.now() + datetime.timedelta(days=self.cleaned_data["days"])


def _has_recent_login(request: HttpRequest) -> bool:
    """Return True if the user signed in recently.

    This replaces the password for users without one.
    """
    records = get_authentication_records(request, request.user)
    return bool(records) and time.time() - records[-1]["at"] < RECENT_LOGIN_SECONDS


class MemberForm(forms.Form):
    """A new member: an existing account, or a new one."""

    username = forms.CharField(
        label=_("Name"), max_length=150, help_text=_("Letters, digits and @ . + - _")
    )
    email = forms.EmailField(
        label=_("Email address (optional)"),
        required=False,
    )
    role = forms.ChoiceField(
        label=_("Role"), choices=Member.Role.choices, initial=Member.Role.ANNOTATOR
    )
    account = forms.ChoiceField(
        label=_("Account"),
        choices=[("new", _("New account")), ("existing", _("Existing account"))],
        widget=forms.RadioSelect,
        initial="new",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not settings.SMTP_URL:
            del self.fields["email"]


class InviteForm(forms.Form):
    """New accounts: one name per line.

    An email address may follow each name if the site sends mail.
    """

    names = forms.CharField(
        label=_("Names, one per line"),
        max_length=MAX_INVITATIONS * 160,
        widget=forms.Textarea({"rows": 5}),
    )
    role = forms.ChoiceField(
        label=_("Role"), choices=Member.Role.choices, initial=Member.Role.ANNOTATOR
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if settings.SMTP_URL:
            self.fields["names"].label = _("Names, one per line, with email if known")
            self.fields["names"].widget.attrs["placeholder"] = "ada ada@example.org"

    def clean_names(self) -> dict[str, str]:
        """Return {name: address or ""} in the order of the lines."""
        lines = self.cleaned_data["names"].splitlines()
        people = [_split_address(line.strip()) for line in lines if line.strip()]
        names = [name for name, _address in people]
        duplicates = sorted({name for name in names if names.count(name) > 1})
        if duplicates:
            raise forms.ValidationError(
                _("Duplicate names: %(names)s.") % {"names": ", ".join(duplicates)}
            )
        if len(names) > MAX_INVITATIONS:
            raise forms.ValidationError(
                _("Enter at most %(n)s names at a time.") % {"n": MAX_INVITATIONS}
            )
        return dict(people)


def _split_address(line: str) -> tuple[str, str]:
    """Return name and address of a line like "ada ada@example.org"; the address may be missing."""
    name, _separator, address = line.partition(" ")
    address = address.strip().strip("<>")
    if not settings.SMTP_URL or "@" not in address:
        return line, ""
    return name.rstrip(",;"), address


class ModelRaterForm(forms.Form):
    """A new rater that is a model."""

    key = forms.CharField(label=_("ID"), max_length=MAX_KEY_LENGTH)

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project = project

    def clean_key(self) -> str:
        key: str = self.cleaned_data["key"]
        if find_key_problem(key, max_length=MAX_KEY_LENGTH):  # written for the API, in English
            raise forms.ValidationError(RegexValidator.message)
        if self.project.raters.filter(key=key).exists():
            raise forms.ValidationError(_("This name already exists."))
        return key


class RaterForm(forms.Form):
    """The settings of a rater."""

    name = forms.CharField(label=_("Name"), max_length=MAX_NAME_LENGTH, required=False)
    kind = forms.ChoiceField(label=_("Kind"), choices=Rater.Kind.choices)
    model = forms.CharField(label=_("Model"), max_length=MAX_MODEL_LENGTH, required=False)
    prompt_version = forms.CharField(
        label=_("Prompt version"),
        max_length=MAX_VERSION_LENGTH,
        required=False,
        help_text=_("Models only. A new version is a new rater."),
    )
    group = forms.CharField(
        label=_("Group"),
        max_length=MAX_GROUP_LENGTH,
        required=False,
        help_text=_("A team or vendor, to filter by."),
    )
    user = forms.TypedChoiceField(
        label=_("Linked account"), coerce=int, empty_value=None, required=False
    )

    def __init__(
        self, *args: Any, members: list[Member], hidden: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        users = [(member.user_id, member.user.get_username()) for member in members]
        choices: Any = self.fields["user"]
        choices.choices = [("", _("no account")), *users]
        if hidden:  # the identity must not be shown
            del self.fields["name"], self.fields["user"]
