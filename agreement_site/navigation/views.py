"""The search page, the page of the API, and the style guide of the pages' building blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from agreement_site.navigation import sidebar
from core.text import parse_id
from metrics import saved_views
from metrics.views.common.getting_started import SetupStep
from metrics.views.saved_views import build_view_url
from projects.models import Item, Member, Project, Question, Rater
from projects.permissions import (
    Capability,
    can_create_projects,
    get_led_memberships,
    get_project,
    may,
)

MAX_QUERY_LENGTH = 200  # characters of a query
RESULTS_PER_KIND = 6
# URL name of a page -> other words that find it, in the languages of the pages.
PAGE_SYNONYMS = {
    "dashboard": ("share", "public link", "kappa", "分享"),
    "review": ("adjudicate", "decide", "裁决"),
    "alerts": ("drift", "notifications", "漂移"),
    "data": ("download", "csv", "backup", "下载"),
    "raters": ("annotators", "coders", "workers", "pause", "暂停"),
    "people": ("users", "roles", "add model", "成员"),
    "coefficients": ("alpha", "fleiss", "scott", "krippendorff", "gwet", "斯科特", "克里彭多夫"),
    "project_archive": ("duplicate", "clone", "remove"),
    "tokens": (
        "dark",
        "light",
        "theme",
        "language",
        "password",
        "sign out",
        "深色",
        "语言",
        "密码",
    ),
    "glossary": ("help", "documentation", "scott", "krippendorff", "帮助", "吻合度"),
}


@dataclass(frozen=True)
class PaletteResult:
    """A result of the search: the kind of thing that was found, its label, and its URL."""

    kind: str | Promise
    label: str | Promise
    url: str


def search_palette(user: Any, text: str, project: Any = None) -> list[PaletteResult]:
    """Return the pages, actions and objects that match ``text``; all pages and actions if empty.

    ``project``: the current project with the user's role, None outside of projects.
    """
    results = [*_iter_pages(user, project), *_iter_actions(user, project)]
    if not text:
        return results
    needle = text.casefold()
    synonyms = _get_synonyms_by_url(project)
    results = [
        result
        for result in results
        if needle in str(result.label).casefold()
        or any(word.startswith(needle) for word in synonyms.get(result.url, ()))
    ]
    if project is not None and may(project.role, Capability.SEE_RESULTS):
        for find_objects in (_search_views, _search_questions, _search_raters, _search_items):
            results += find_objects(project, text)
    if project is None:
        results += _search_raters_of_led_projects(user, text)
    return [*results, *_search_projects(user, text)]


def _get_synonyms_by_url(project: Any) -> dict[str, tuple[str, ...]]:
    """Return {URL of a page: further search words}, without pages of a project if it is None."""
    synonyms = {}
    for name, words in PAGE_SYNONYMS.items():
        is_site_page = name in ("tokens", "glossary")
        if is_site_page or project is not None:
            synonyms[reverse(name, args=[] if is_site_page else [project.pk])] = words
    return synonyms


def _iter_pages(user: Any, project: Any) -> Iterator[PaletteResult]:
    project_pages = [] if project is None else sidebar.list_project_pages(project)
    site_pages = [*sidebar.list_site_links(user, ""), *sidebar.list_user_menu(user, "")]
    for link in [*project_pages, *site_pages]:
        yield PaletteResult(_("Page"), link.label, link.url)


def _iter_actions(user: Any, project: Any) -> Iterator[PaletteResult]:
    def build_url(name: str) -> str:
        return reverse(name, args=[] if project is None else [project.pk])

    kind = _("Do")
    if project is not None and project.can_manage:
        yield PaletteResult(kind, _("Invite people"), build_url("people"))
        yield PaletteResult(kind, _("Add items"), build_url("item_new"))
        yield PaletteResult(kind, _("Write guidelines"), build_url("guidelines_settings"))
        yield PaletteResult(kind, _("Add question"), build_url("question_create"))
    if can_create_projects(user):
        yield PaletteResult(kind, _("New project"), reverse("project_create"))
        yield PaletteResult(kind, _("Import file"), reverse("import_upload_new_project"))


def _search_views(project: Any, text: str) -> Iterator[PaletteResult]:
    needle = text.casefold()
    for view in saved_views.list_saved_views(project):
        if needle in view.name.casefold():
            yield PaletteResult(_("View"), view.name, build_view_url(view))


def _search_questions(project: Any, text: str) -> Iterator[PaletteResult]:
    condition = Q(text__icontains=text) | Q(key__icontains=text)
    for question in Question.objects.filter(condition, project=project)[:RESULTS_PER_KIND]:
        query = urlencode({"question": question.key})
        url = reverse("dashboard", args=[project.pk])
        yield PaletteResult(_("Question"), str(question), f"{url}?{query}")


def _search_raters(project: Any, text: str) -> Iterator[PaletteResult]:
    """Yield raters by key or name; for a lead, "pause w1" leads to the page that pauses w1."""
    command, _space, argument = text.partition(" ")
    is_pause = project.can_manage and argument and command.casefold() in ("pause", _("pause"))
    raters = _filter_raters(argument if is_pause else text).filter(project=project)
    for rater in raters.order_by("key")[:RESULTS_PER_KIND]:
        rater_label = rater.key if rater.name in ("", rater.key) else f"{rater.key} · {rater.name}"
        if is_pause:
            label = _("Pause %(rater)s") % {"rater": rater_label}
            yield PaletteResult(_("Do"), label, reverse("rater", args=[project.pk, rater.key]))
        else:
            yield PaletteResult(
                _("Rater"), rater_label, reverse("rater", args=[project.pk, rater.key])
            )


def _search_raters_of_led_projects(user: Any, text: str) -> Iterator[PaletteResult]:
    projects = get_led_memberships(user).filter(project__archived_at=None).values("project_id")
    raters = _filter_raters(text).filter(project__in=projects).select_related("project")
    for rater in raters.order_by("key", "pk")[:RESULTS_PER_KIND]:
        url = reverse("rater", args=[rater.project_id, rater.key])
        yield PaletteResult(_("Rater"), f"{rater} · {rater.project.name}", url)


def _filter_raters(text: str) -> QuerySet[Rater]:
    return Rater.objects.filter(Q(key__icontains=text) | Q(name__icontains=text))


def _search_items(project: Any, text: str) -> Iterator[PaletteResult]:
    """Yield the project's first items whose key starts with the text, case-sensitively.

    The query reads RESULTS_PER_KIND entries of the keys' index from the text on, not all items.
    """
    items = Item.objects.filter(project=project, key__gte=text).order_by("key")
    for key in items.values_list("key", flat=True)[:RESULTS_PER_KIND]:
        if key.startswith(text):
            yield PaletteResult(_("Item"), key, reverse("item", args=[project.pk, key]))


def _search_projects(user: Any, text: str) -> Iterator[PaletteResult]:
    projects = (
        Project.objects.visible_to(user)
        .filter(Q(name__icontains=text) | Q(tags__icontains=text))
        .order_by("-pk")
    )
    roles = dict(Member.objects.filter(user=user.pk).values_list("project_id", "role"))
    for project in projects.only("name")[:RESULTS_PER_KIND]:
        role = Member.Role.LEAD if user.is_superuser else roles[project.pk]
        yield PaletteResult(_("Project"), project.name, sidebar.get_start_url(project.pk, role))


# Example values for the blocks that show numbers.
STYLE_GUIDE_CONTEXT: dict[str, Any] = {
    "levels": range(6),
    "reading": {"value": 0.43, "low": 0.32, "high": 0.54},
    "wide": {"value": 0.1, "low": -0.3, "high": 0.5},
    "course": [0.31, 0.42, None, 0.4, 0.52, 0.61],
    "steps": [
        SetupStep("Guidelines", "written", done=True, action="", url=""),
        SetupStep("People", "1", done=False, action="Invite people", url="#buttons"),
    ],
    "options": [{"label": "fine", "key": "1"}, {"label": "toxic", "key": "2"}],
}


@login_required
@require_safe
def search_page(request: HttpRequest) -> HttpResponse:
    """Search for ``q``, within the project with the id ``project`` if given.

    With the header ``X-Palette: 1``, the response is only the list of results. Raises BadRequest
    for a text that is too long, and if ``project`` is no number.
    """
    text = request.GET.get("q", "").strip()
    project_text = request.GET.get("project", "")
    project_id = parse_id(project_text)
    if len(text) > MAX_QUERY_LENGTH:
        raise BadRequest(_("Use a shorter search."))
    if project_text and project_id is None:
        raise BadRequest("project must be a project number.")
    project = None if project_id is None else get_project(request.user, project_id)
    context: dict[str, Any] = {
        "text": text,
        "results": search_palette(request.user, text, project),
        "project": project,
    }
    is_palette = request.headers.get("X-Palette") == "1"
    response = render(request, "_search_results.html" if is_palette else "search.html", context)
    patch_vary_headers(response, ["X-Palette"])
    return response


@require_safe
def show_api_reference(request: HttpRequest) -> HttpResponse:
    """Show the API with a form for each call. Like the schema, it needs no account."""
    return render(request, "api_reference.html")


@login_required
@require_safe
def show_style_guide(request: HttpRequest) -> HttpResponse:
    """Show every building block of the pages in its states; 404 for users who are not staff."""
    if not request.user.is_staff:
        raise Http404
    return render(request, "style.html", STYLE_GUIDE_CONTEXT)
