"""What moved, in words: the names of fields as lines of the trail keep them. A name that is not
here is shown as it is kept, and so is what people named themselves."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

# Acts whose lines name items or raters, not fields.
NAMED_BY_PEOPLE = ("gold_changed", "raters_put")

NAMES = {
    # accounts
    "account": _("account"),
    "browser": _("browser"),
    "by_way_of": _("by way of"),
    "email": _("e-mail"),
    "expires_at": _("ends"),
    "full_name": _("full name"),
    "is_active": _("open"),
    "is_staff": _("staff"),
    "is_superuser": _("superuser"),
    "member": _("member"),
    "of": _("of"),
    "password1": _("password"),
    "provider": _("provider"),
    "role": _("role"),
    "scope": _("scope"),
    "token": _("token"),
    "tokens_revoked": _("tokens revoked"),
    "uid": _("known there as"),
    "username": _("name"),
    # projects and questions
    "categories": _("categories"),
    "corrections": _("corrections"),
    "description": _("description"),
    "guidelines": _("guidelines"),
    "guidelines_version": _("number of the guidelines"),
    "key": _("key"),
    "label": _("label"),
    "method": _("method"),
    "name": _("name"),
    "overlap": _("ratings an item"),
    "scale": _("scale"),
    "text": _("text"),
    "time_zone": _("time zone"),
    "weight_matrix": _("table of weights"),
    "weights": _("weights"),
    "with_models": _("with models"),
    # raters and items
    "bar": _("bar"),
    "budget": _("budget"),
    "group": _("group"),
    "items": _("items"),
    "kind": _("kind"),
    "model": _("model"),
    "page": _("page"),
    "paused": _("paused"),
    "prompt_version": _("version of the prompt"),
    "query": _("what it shows"),
    "rater": _("rater"),
    "raters": _("raters"),
    "ratings": _("ratings"),
    "reason": _("reason"),
    "user": _("account"),
    "was": _("was"),
    "what_of": _("of what"),
    "who": _("whom (number)"),
}
