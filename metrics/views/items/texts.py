"""How many items fit, and where a page of them stands, in words."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from metrics.views.common.number_formats import whole
from ratings.items.item_search import Number


def fitting(number: Number, n_items: int) -> str:
    """How many of the project's items fit."""
    said = {"fit": whole(number.items), "all": whole(n_items)}
    if number.more:
        return _("More than %(fit)s of %(all)s items fit") % said
    if number.looked_at:
        said["looked_at"] = whole(number.looked_at)
        return _("Of the first %(looked_at)s items %(fit)s fit; there are %(all)s") % said
    return ngettext("1 of %(all)s items fits", "%(fit)s of %(all)s items fit", number.items) % said


def place(seen: int | None, n_rows: int, n_listed: int | None, number: Number | None) -> str:
    """Which of the items a page shows, behind those ``seen``; ``number``: how many fit, where not
    all do. Empty where that is not known."""
    if seen is None:
        return ""
    said = {"first": whole(seen + 1), "last": whole(seen + n_rows)}
    if n_listed is None or (number and number.looked_at):
        return _("%(first)s to %(last)s") % said
    said["all"] = whole(number.items if number else n_listed)
    if number and number.more:
        return _("%(first)s to %(last)s of more than %(all)s") % said
    return _("%(first)s to %(last)s of %(all)s") % said


def set_aside(number: int, most: int) -> str:
    """How often items were skipped or flagged."""
    if number >= most:
        return _("skipped or flagged %(n)s times and more") % {"n": whole(number)}
    said = ngettext("skipped or flagged once", "skipped or flagged %(n)s times", number)
    return said % {"n": whole(number)}
