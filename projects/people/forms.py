"""What the pages of people and tokens ask for."""

from __future__ import annotations

import datetime
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from projects.catalogue.raters import LONGEST_GROUP, LONGEST_NAME
from projects.models import Member, Project, Rater


class TokenForm(forms.Form):
    scope = forms.ChoiceField(
        label=_("It may"), choices=[("write", _("read and write")), ("read", _("only read"))]
    )
    project = forms.ModelChoiceField(
        Project.objects.none(), label=_("Project"), required=False, empty_label=_("all my projects")
    )
    days = forms.TypedChoiceField(
        label=_("It ends"),
        coerce=int,
        choices=[
            ("30", _("in 30 days")),
            ("90", _("in 90 days")),
            ("365", _("in a year")),
            ("0", _("never")),
        ],
        initial="90",
    )

    def __init__(self, *args: Any, user: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        project: Any = self.fields["project"]
        project.queryset = Project.objects.visible_to(user).order_by("name")

    def expires_at(self) -> datetime.datetime | None:
        days = self.cleaned_data["days"]
        return timezone.now() + datetime.timedelta(days=days) if days else None


class MemberForm(forms.Form):
    username = forms.CharField(
        label=_("Name"), max_length=150, help_text=_("Letters, digits and @ . + - _")
    )
    role = forms.ChoiceField(
        label=_("Role"), choices=Member.Role.choices, initial=Member.Role.ANNOTATOR
    )
    account = forms.ChoiceField(
        label=_("Account"),
        choices=[("new", _("make a new account")), ("existing", _("has an account already"))],
        widget=forms.RadioSelect,
        initial="new",
    )


class RoleForm(forms.Form):
    role = forms.ChoiceField(label=_("Role"), choices=Member.Role.choices)


class RaterForm(forms.Form):
    name = forms.CharField(label=_("Name"), max_length=LONGEST_NAME, required=False)
    kind = forms.ChoiceField(label=_("Kind"), choices=Rater.Kind.choices)
    group = forms.CharField(
        label=_("Group"),
        max_length=LONGEST_GROUP,
        required=False,
        help_text=_("A team or vendor; the dashboard can show the ratings of one group."),
    )
    user = forms.TypedChoiceField(label=_("Rates as"), coerce=int, empty_value=None, required=False)

    def __init__(self, *args: Any, members: list[Member], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        users = [(member.user_id, member.user.get_username()) for member in members]
        choices: Any = self.fields["user"]
        choices.choices = [("", _("nobody")), *users]
