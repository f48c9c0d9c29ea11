"""Names of accounts that could be taken for another one's: every door that makes an account asks,
but the commands of whoever runs the site. And the letters that stand for a name."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from core.text import has_unseen, likeness, mixes_alphabets


def refuse_misleading(username: str, *, of: User | None = None) -> None:
    """Raises ValidationError for the name of an account that another one has in other capitals, or
    that looks like another one's. ``of``: whose it is to be."""
    others = User.objects.all() if of is None else User.objects.exclude(pk=of.pk)
    if others.filter(username__iexact=username).exists():
        raise ValidationError(_("A user with that username already exists."))
    alike = likeness(username)
    is_like = alike != username and others.filter(username__iexact=alike).exists()
    if is_like or mixes_alphabets(username) or has_unseen(username):
        said = _("This name looks like another one: letters of one alphabet tell them apart.")
        raise ValidationError(said)


def initials(name: object) -> str:
    """Up to two letters or digits for a person: AL of Ada Lovelace, 39 of w0039, W2 of w2."""
    words = [word for word in str(name).replace("_", " ").replace("-", " ").split() if word]
    last = words[-1] if words else "?"
    if last[-2:].isdecimal():
        return last[-2:]
    if len(words) > 1:
        return (words[0][0] + last[0]).upper()
    return last[0].upper() + last[-1] if len(last) > 1 and last[-1].isdecimal() else last[0].upper()
