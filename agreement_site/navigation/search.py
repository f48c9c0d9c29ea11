"""What the palette finds: projects, and in the project at hand its pages, questions, raters, items
and what can be done. Each by the rules of its own page: what may not be seen is not found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from metrics.saved_views import services
from metrics.views.saved_views import views
from projects.models import Item, Member, Project, Question, Rater
from projects.permissions import may_create_projects

from . import sidebar

LONGEST = 200  # characters of what is looked for
OF_A_KIND = 6


@dataclass(frozen=True)
class Found:
    """A line of the answer: what kind of thing it is, its name, and where it is."""

    kind: str | Promise
    words: str | Promise
    url: str


def find(user: Any, text: str, project: Any = None) -> list[Found]:
    """What goes by ``text``; without a text where one can go from here. ``project``: the one at
    hand, with the caller's role."""
    found = [*_pages(user, project), *_actions(user, project)]
    if not text:
        return found
    wanted = text.casefold()
    found = [one for one in found if wanted in str(one.words).casefold()]
    if project is not None and project.role in sidebar.RESULTS:
        for kind in (_views, _questions, _raters, _items):
            found += kind(project, text)
    return [*found, *_projects(user, text)]


def _pages(user: Any, project: Any) -> Iterator[Found]:
    lines = [] if project is None else sidebar.lines(project, "")
    for line in [*lines, *sidebar.site_lines(user, "")]:
        yield Found(_("Page"), line.place.words, line.url)


def _actions(user: Any, project: Any) -> Iterator[Found]:
    def to(name: str) -> str:
        return reverse(name, args=[] if project is None else [project.pk])

    kind = _("Do")
    if project is not None and project.role == Member.Role.LEAD:
        yield Found(kind, _("Invite people"), to("people"))
        yield Found(kind, _("Add items"), to("item_new"))
        yield Found(kind, _("Write the guidelines"), to("setup") + "#guidelines-title")
        yield Found(kind, _("Add a question"), to("question_new"))
    if may_create_projects(user):
        yield Found(kind, _("New project"), reverse("project_new"))
        yield Found(kind, _("Import a file"), reverse("import_project"))


def _views(project: Any, text: str) -> Iterator[Found]:
    wanted = text.casefold()
    for view in services.named(project):
        if wanted in view.name.casefold():
            yield Found(_("View"), view.name, views.address(view))


def _questions(project: Any, text: str) -> Iterator[Found]:
    named = Q(text__icontains=text) | Q(key__icontains=text)
    for question in Question.objects.filter(named, project=project)[:OF_A_KIND]:
        query = urlencode({"question": question.key})
        url = reverse("dashboard", args=[project.pk])
        yield Found(_("Question"), str(question), f"{url}?{query}")


def _raters(project: Any, text: str) -> Iterator[Found]:
    """Raters by key or name; for a lead "pause w1" leads to where that is done."""
    first, _space, rest = text.partition(" ")
    pauses = project.role == Member.Role.LEAD and rest and first.casefold() in ("pause", _("pause"))
    named = Q(key__icontains=rest if pauses else text) | Q(name__icontains=rest if pauses else text)
    for rater in Rater.objects.filter(named, project=project).order_by("key")[:OF_A_KIND]:
        shown = rater.key if rater.name in ("", rater.key) else f"{rater.key} · {rater.name}"
        if pauses:
            words = _("Pause %(rater)s") % {"rater": shown}
            yield Found(_("Do"), words, reverse("rater", args=[project.pk, rater.key]))
        else:
            yield Found(_("Rater"), shown, reverse("rater", args=[project.pk, rater.key]))


def _items(project: Any, text: str) -> Iterator[Found]:
    """Items whose key begins so: read off the index of keys, a million items or ten."""
    after = Item.objects.filter(project=project, key__gte=text).order_by("key")
    for key in after.values_list("key", flat=True)[:OF_A_KIND]:
        if key.startswith(text):
            yield Found(_("Item"), key, reverse("item", args=[project.pk, key]))


def _projects(user: Any, text: str) -> Iterator[Found]:
    own = Project.objects.visible_to(user).filter(name__icontains=text).order_by("-pk")
    roles = dict(Member.objects.filter(user=user.pk).values_list("project_id", "role"))
    for project in own.only("name")[:OF_A_KIND]:
        role = Member.Role.LEAD if user.is_superuser else roles[project.pk]
        yield Found(_("Project"), project.name, sidebar.first_page(project.pk, role))
