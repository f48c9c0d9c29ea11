"""Texts on the list of items: number of matches, range of the page, number of skips."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from metrics.views.common.number_formats import format_count
from ratings.items.item_search import ItemCount


def describe_match_count(number: ItemCount, n_items: int) -> str:
    """Return how many of the project's items match."""
    params = {"fit": format_count(number.items), "all": format_count(n_items)}
    if number.more:
        return _("Over %(fit)s of %(all)s items match") % params
    if number.n_scanned:
        params["looked_at"] = format_count(number.n_scanned)
        return _("%(fit)s of the first %(looked_at)s items match; %(all)s in total") % params
    return (
        ngettext("1 of %(all)s items matches", "%(fit)s of %(all)s items match", number.items)
        % params
    )


def describe_page_range(
    n_before: int | None, n_rows: int, n_listed: int | None, number: ItemCount | None
) -> str:
    """Return which of the items a page shows; empty where that is unknown.

    ``n_before``: number of items before it. ``number``: number of matches, with a filter.
    """
    if n_before is None:
        return ""
    params = {"first": format_count(n_before + 1), "last": format_count(n_before + n_rows)}
    if n_listed is None or (number and number.n_scanned):
        return _("%(first)s to %(last)s") % params
    params["all"] = format_count(number.items if number else n_listed)
    if number and number.more:
        return _("%(first)s to %(last)s of more than %(all)s") % params
    return _("%(first)s to %(last)s of %(all)s") % params


def describe_skip_count(number: int, max_counted: int) -> str:
    """Return how often items were skipped or flagged."""
    if number >= max_counted:
        return _("skipped or flagged %(n)s or more times") % {"n": format_count(number)}
    template = ngettext("skipped or flagged once", "skipped or flagged %(n)s times", number)
    return template % {"n": format_count(number)}
