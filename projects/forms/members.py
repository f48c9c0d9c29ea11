"""Forms of members and raters."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.conf import settings
from django.core.validators import RegexValidator
from django.utils.translation import gettext_lazy as _

from core.text import get_list_separator
from projects.models import Member, Project, Rater
from projects.services.rater_changes import (
    MAX_GROUP_LENGTH,
    MAX_KEY_LENGTH,
    MAX_MODEL_LENGTH,
    MAX_NAME_LENGTH,
    MAX_VERSION_LENGTH,
)
from projects.services.row_validation import find_key_problem

MAX_INVITATIONS = 100  # in one form


class MemberForm(forms.Form):
    """Form of a new member: the name of an existing account, or of a new one."""

    username = forms.CharField(label=_("Name"), max_length=150)
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
    """Form that invites several people: one name per line.

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
            self.fields["names"].label = _("Names, one per line, with email")
            self.fields["names"].widget.attrs["placeholder"] = "ada ada@example.org"

    def clean_names(self) -> dict[str, str]:
        """Return {name: email address, or "" without one} in the order of the lines.

        Raises ValidationError for a repeated name and for more than MAX_INVITATIONS names."""
        lines = self.cleaned_data["names"].splitlines()
        people = [_split_address(text) for line in lines if (text := line.strip(" \t,;"))]
        names = [name for name, _address in people]
        duplicates = sorted({name for name in names if names.count(name) > 1})
        if duplicates:
            raise forms.ValidationError(
                _("Duplicate names: %(names)s.") % {"names": get_list_separator().join(duplicates)}
            )
        if len(names) > MAX_INVITATIONS:
            raise forms.ValidationError(_("At most %(n)s names.") % {"n": MAX_INVITATIONS})
        return dict(people)


def _split_address(line: str) -> tuple[str, str]:
    """Return name and address of a line like "ada ada@example.org"; the address may be missing.

    They may be separated by blanks, a tab, a comma or a semicolon, as in a copied table.
    """
    *names, address = re.split(r"[\s,;]+", line)
    if not (settings.SMTP_URL and names and "@" in address):
        return line, ""
    return " ".join(names), address.strip("<>")


class ModelRaterForm(forms.Form):
    """Form of a new rater that is a model."""

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
    """Form of a rater's settings."""

    name = forms.CharField(label=_("Name"), max_length=MAX_NAME_LENGTH, required=False)
    kind = forms.ChoiceField(label=_("Kind"), choices=Rater.Kind.choices)
    model = forms.CharField(label=_("Model"), max_length=MAX_MODEL_LENGTH, required=False)
    prompt_version = forms.CharField(
        label=_("Prompt version"),
        max_length=MAX_VERSION_LENGTH,
        required=False,
        help_text=_("Models only. New versions are new raters."),
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
