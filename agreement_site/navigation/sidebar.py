"""The sidebar: links to a project's pages, by role.

A new page of a project is an entry here, or a path in the entry of the page it belongs to.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from projects.models import Member, Project
from quality.inbox import selectors
from ratings.models import Assignment

Role = Member.Role
ALL_ROLES = frozenset(Role.values)
RESULT_ROLES = ALL_ROLES - {Role.ANNOTATOR}
RATING_ROLES = frozenset({Role.LEAD, Role.ANNOTATOR})
LEAD_ROLES = frozenset({Role.LEAD})
MAX_COUNT = 100  # highest count; above it the page shows "99+"
MAX_SWITCHER_PROJECTS = 8  # maximum number of projects in the project switcher


@dataclass(frozen=True)
class SidebarEntry:
    """An entry of the sidebar: URL name, label, and the roles that see it.

    ``child_paths``: the first path segments of further pages that belong to the entry.
    ``starts_group``: a separator is shown above it.
    """

    url_name: str
    label: Promise
    roles: frozenset[str]
    child_paths: tuple[str, ...] = ()
    starts_group: bool = False
    shortcut: str = ""  # keyboard shortcut: g, then this key


PROJECT_ENTRIES = (
    SidebarEntry(
        "dashboard",
        _("Overview"),
        RESULT_ROLES,
        ("", "change", "coefficients", "pairs", "reports", "views"),
        shortcut="d",
    ),
    SidebarEntry("questions", _("Questions"), RESULT_ROLES, shortcut="q"),
    SidebarEntry("raters", _("Raters"), RESULT_ROLES, ("rater-messages",), shortcut="r"),
    SidebarEntry(
        "items",
        _("Items"),
        RESULT_ROLES,
        ("item", "new-item", "selected-items", "skipped"),
        shortcut="i",
    ),
    SidebarEntry("labels", _("Labels"), RESULT_ROLES, ("review", "appeals", "plan"), shortcut="l"),
    SidebarEntry("alerts", _("Alarms"), RESULT_ROLES, shortcut="a"),
    SidebarEntry("rate", _("Rate"), RATING_ROLES, starts_group=True, shortcut="n"),
    SidebarEntry(
        "my_ratings",
        _("My ratings"),
        frozenset({Role.ANNOTATOR}),
        ("decisions", "exam", "gold-appeals"),
        shortcut="m",
    ),
    SidebarEntry("gold", _("Gold"), LEAD_ROLES, ("exams",), starts_group=True),
    SidebarEntry("data", _("Data"), RESULT_ROLES, shortcut="f"),
    SidebarEntry("people", _("People"), LEAD_ROLES, ("audit-log",), shortcut="p"),
    SidebarEntry(
        "project_settings",
        _("Set-up"),
        LEAD_ROLES,
        ("guidelines", "archive", "delete"),
        shortcut="s",
    ),
)

# Pages outside of projects.
SITE_ENTRIES = (
    SidebarEntry("projects", _("Projects"), ALL_ROLES),
    SidebarEntry("all_raters", _("Raters of all projects"), RESULT_ROLES | {"superuser", "staff"}),
    SidebarEntry("tokens", _("Your account"), ALL_ROLES, starts_group=True),
    SidebarEntry("glossary", _("What the words mean"), ALL_ROLES),
    SidebarEntry("system_status", _("Operations"), frozenset({"superuser"}), starts_group=True),
    SidebarEntry("audit_log", _("Audit trail"), frozenset({"superuser"})),
    SidebarEntry("site_webhooks", _("Webhooks"), frozenset({"superuser"})),
    SidebarEntry("access_review", _("Access review"), frozenset({"superuser"})),
    SidebarEntry("admin:index", _("Admin"), frozenset({"superuser", "staff"})),
)


@dataclass(frozen=True)
class SidebarLink:
    """An entry as this user sees it from this page."""

    entry: SidebarEntry
    url: str
    is_current: bool
    count: int = 0

    @property
    def is_capped(self) -> bool:
        return self.count >= MAX_COUNT


def build_project_links(project: Any, path: str) -> list[SidebarLink]:
    """Return the sidebar of ``project`` for the user's role in it (``project.role``)."""
    entries = [entry for entry in PROJECT_ENTRIES if project.role in entry.roles]
    urls = {entry.url_name: reverse(entry.url_name, args=[project.pk]) for entry in entries}
    current = _find_current(entries, urls, project, path)
    counts = {"items": count_skipped_items(project)} if project.role == Role.LEAD else {}
    return [
        SidebarLink(entry, urls[entry.url_name], entry is current, counts.get(entry.url_name, 0))
        for entry in entries
    ]


def build_site_links(user: Any, path: str) -> list[SidebarLink]:
    """Return the sidebar of pages outside of projects."""
    role = (
        "superuser" if user.is_superuser else "staff" if user.is_staff else _get_sidebar_role(user)
    )
    links = [
        SidebarLink(entry, reverse(entry.url_name), False)
        for entry in SITE_ENTRIES
        if _can_see(role, entry)
    ]
    return [replace(link, is_current=link.url == path) for link in links]


def _get_sidebar_role(user: Any) -> str:
    """Return annotator for users who have no other role in any project; else viewer."""
    roles = Member.objects.filter(user=user.pk).order_by().values_list("role", flat=True)
    return Role.ANNOTATOR if set(roles.distinct()) == {Role.ANNOTATOR} else Role.VIEWER


def _can_see(role: str, entry: SidebarEntry) -> bool:
    return role in entry.roles or entry.roles == ALL_ROLES


def _find_current(
    entries: list[SidebarEntry], urls: dict[str, str], project: Any, path: str
) -> SidebarEntry | None:
    """Return the entry that the path belongs to, or None."""
    project_path = f"/projects/{project.pk}/"
    segment = (
        path.removeprefix(project_path).split("/", 1)[0] if path.startswith(project_path) else None
    )
    for entry in entries:
        if segment in (
            urls[entry.url_name].removeprefix(project_path).rstrip("/"),
            *entry.child_paths,
        ):
            return entry
    return None


def count_skipped_items(project: Project) -> int:
    """Return the number of items that raters skipped or flagged, at most MAX_COUNT."""
    return Assignment.objects.skipped_or_flagged_in(project)[:MAX_COUNT].count()


def list_inbox_entries(project: Any) -> list[selectors.InboxEntry]:
    """Return the inbox of the project for its leads; empty for other roles."""
    if project.role != Role.LEAD:
        return []
    return selectors.get_entries_by_project({project.pk: project.role}).get(project.pk, [])


def list_other_projects(user: Any, project: Any) -> list[tuple[str, str]]:
    """Return (name, start URL) of the user's other active projects, those joined last first."""
    memberships = Member.objects.filter(user=user.pk, project__archived_at__isnull=True)
    other_memberships = memberships.exclude(project=project.pk).order_by("-pk")
    rows = other_memberships.values_list("project", "project__name", "role")[:MAX_SWITCHER_PROJECTS]
    return [(name, get_start_url(pk, role)) for pk, name, role in rows]


def get_start_url(project_id: int, role: str) -> str:
    """Return the URL where a user with this role starts in a project."""
    return reverse("rate" if role == Role.ANNOTATOR else "dashboard", args=[project_id])
