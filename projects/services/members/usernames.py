"""Reject usernames that could be mistaken for another one, and build initials for avatars.

All entry points that create accounts check names, except for the administrator's commands.
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from core.text import fold_lookalikes, has_invisible_character, has_mixed_scripts


def reject_misleading_username(username: str, *, user: User | None = None) -> None:
    """Raise ValidationError for a username that may be mistaken for another one.

    It equals an existing name except for case or lookalike characters, or it mixes alphabets or has
    invisible characters. ``user`` is the account that the name is for, if it exists already.
    """
    other_users = User.objects.all() if user is None else User.objects.exclude(pk=user.pk)
    if other_users.filter(username__iexact=username).exists():
        raise ValidationError(_("This name already exists."))
    folded = fold_lookalikes(username)
    is_lookalike = folded != username and other_users.filter(username__iexact=folded).exists()
    if is_lookalike or has_mixed_scripts(username) or has_invisible_character(username):
        message = _("This name looks like another. Use one alphabet.")
        raise ValidationError(message)


def get_initials(name: object) -> str:
    """Return one or two letters or digits: AL for Ada Lovelace, 39 for w0039, W2 for w2."""
    words = [word for word in str(name).replace("_", " ").replace("-", " ").split() if word]
    last = words[-1] if words else "?"
    if last[-2:].isdecimal():
        return last[-2:]
    if len(words) > 1:
        return (words[0][0] + last[0]).upper()
    return last[0].upper() + last[-1] if len(last) > 1 and last[-1].isdecimal() else last[0].upper()
