"""Navigation: the sidebar, the tabs of its entries, and the menu of the user.

A new page of a project is a tab of an entry here, or a path of the tab that it belongs to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from projects.models import Member, Project
from projects.models.roles import Capability, may
from quality.inbox import entry_counts
from ratings.models import Assignment

MAX_COUNT = 100  # highest count; above it the page shows "99+"
MAX_SWITCHER_PROJECTS = 8  # maximum number of projects in the project switcher


@dataclass(frozen=True)
class NavigationTab:
    """A page of an entry: URL name, label, and the capability that opens it (None: any).

    ``paths``: paths, relative to the project's, of the pages that belong to the tab. A page belongs
    to the tab with the longest path that is a prefix of the page's own.
    """

    url_name: str
    label: Promise
    capability: Capability | None
    paths: tuple[str, ...]


@dataclass(frozen=True)
class NavigationEntry:
    """An entry of the sidebar with its tabs; it leads to the first tab that the user may open."""

    label: Promise
    shortcut: str  # keyboard shortcut: g, then this key
    tabs: tuple[NavigationTab, ...]


PROJECT_ENTRIES = (
    NavigationEntry(
        _("Overview"),
        "d",
        (
            NavigationTab(
                "dashboard",
                _("Overview"),
                Capability.SEE_RESULTS,
                ("", "statistics", "questions", "pairs"),
            ),
        ),
    ),
    NavigationEntry(
        _("Review"),
        "e",
        (
            NavigationTab("review", _("Uncertain items"), Capability.REVIEW, ("review",)),
            NavigationTab("alerts", _("Alerts"), Capability.SEE_RESULTS, ("alerts",)),
            NavigationTab("appeals", _("Appeals"), Capability.REVIEW, ("appeals",)),
            NavigationTab(
                "skipped_and_flagged", _("Skipped and flagged"), Capability.MANAGE, ("skipped",)
            ),
        ),
    ),
    NavigationEntry(
        _("Items"),
        "i",
        (
            NavigationTab(
                "items",
                _("Items"),
                Capability.SEE_RESULTS,
                ("items", "item", "new-item", "selected-items"),
            ),
            NavigationTab("labels", _("Labels"), Capability.SEE_RESULTS, ("labels",)),
            NavigationTab("data", _("Import and export"), Capability.SEE_RESULTS, ("data",)),
        ),
    ),
    NavigationEntry(
        _("Raters"),
        "r",
        (
            NavigationTab(
                "raters", _("Agreement"), Capability.SEE_RESULTS, ("raters", "rater-messages")
            ),
            NavigationTab("people", _("Members"), Capability.MANAGE, ("people",)),
            NavigationTab("gold", _("Gold answers"), Capability.MANAGE, ("gold",)),
            NavigationTab("exam_settings", _("Exam"), Capability.MANAGE, ("exams",)),
        ),
    ),
    NavigationEntry(
        _("My ratings"),
        "m",
        (
            NavigationTab(
                "my_ratings",
                _("My ratings"),
                Capability.SEE_OWN_RATINGS,
                ("my-ratings", "decisions", "exam", "gold-appeals"),
            ),
        ),
    ),
    NavigationEntry(
        _("Guidelines"),
        "u",
        (
            NavigationTab("guidelines", _("Guidelines"), None, ("guidelines",)),
            NavigationTab(
                "guideline_effect", _("Effect"), Capability.SEE_RESULTS, ("guidelines/effect",)
            ),
        ),
    ),
    NavigationEntry(
        _("Reports"),
        "o",
        (
            NavigationTab("reports", _("Reports"), Capability.SEE_RESULTS, ("reports",)),
            NavigationTab("gates", _("Gates"), Capability.SEE_RESULTS, ("gates",)),
            NavigationTab(
                "saved_views", _("Saved views and links"), Capability.SEE_RESULTS, ("views",)
            ),
            NavigationTab(
                "coefficients", _("Coefficients"), Capability.SEE_RESULTS, ("coefficients",)
            ),
            NavigationTab("change", _("What changed"), Capability.SEE_RESULTS, ("change",)),
            NavigationTab("plan", _("Plan"), Capability.SEE_RESULTS, ("plan",)),
        ),
    ),
    NavigationEntry(
        _("Settings"),
        "s",
        (
            NavigationTab("project_settings", _("General"), Capability.MANAGE, ("settings",)),
            NavigationTab(
                "questions_settings",
                _("Questions"),
                Capability.MANAGE,
                ("settings/questions", "settings/new-question"),
            ),
            NavigationTab(
                "guidelines_settings", _("Guidelines"), Capability.MANAGE, ("settings/guidelines",)
            ),
            NavigationTab(
                "quality_checks", _("Quality checks"), Capability.MANAGE, ("settings/checks",)
            ),
            NavigationTab("label_rules", _("Label rules"), Capability.MANAGE, ("labels/rules",)),
            NavigationTab("alert_settings", _("Alerts"), Capability.MANAGE, ("alerts/settings",)),
            NavigationTab("webhooks", _("Webhooks"), Capability.MANAGE, ("settings/webhooks",)),
            NavigationTab(
                "label_studio_connections",
                _("Connections"),
                Capability.MANAGE,
                ("settings/connections",),
            ),
            NavigationTab("project_audit_log", _("Audit log"), Capability.MANAGE, ("audit-log",)),
            NavigationTab(
                "project_archive",
                _("Copy, archive, delete"),
                Capability.MANAGE,
                ("archive", "copy", "delete", "settings/approvals"),
            ),
        ),
    ),
)
RATE_SHORTCUT = "n"


class SiteAccess(Enum):
    """Group of users who see the link to a page outside of projects."""

    EVERYBODY = auto()
    STAFF = auto()
    SUPERUSERS = auto()


@dataclass(frozen=True)
class SitePage:
    """A page outside of projects: URL name, label, and who sees the link to it."""

    url_name: str
    label: Promise
    access: SiteAccess = SiteAccess.EVERYBODY


SITE_ENTRIES = (
    SitePage("inbox", _("Inbox")),
    SitePage("projects", _("Projects")),
    SitePage("all_raters", _("Raters")),
)
# Pages in the menu of the user, on every page.
USER_MENU = (
    SitePage("tokens", _("Account")),
    SitePage("glossary", _("Glossary")),
    SitePage("system_status", _("System status"), SiteAccess.SUPERUSERS),
    SitePage("audit_log", _("Audit log"), SiteAccess.SUPERUSERS),
    SitePage("site_webhooks", _("Webhooks"), SiteAccess.SUPERUSERS),
    SitePage("access_review", _("Access review"), SiteAccess.SUPERUSERS),
    SitePage("admin:index", _("Admin"), SiteAccess.STAFF),
)


@dataclass(frozen=True)
class NavigationLink:
    """A link of the navigation as this user sees it on this page.

    ``count``: number of things on the linked page that need an action of the user.
    """

    label: Promise
    url: str
    is_current: bool = False
    count: int = 0
    shortcut: str = ""

    @property
    def is_capped(self) -> bool:
        return self.count >= MAX_COUNT


class ProjectNavigation(NamedTuple):
    """The navigation of a project for its user.

    ``entries``: the sidebar; ``tabs``: those of the current entry, empty where it has only one;
    ``rate_link``: None for users who do not rate; ``inbox``: what needs an action of the user.
    """

    entries: list[NavigationLink]
    tabs: list[NavigationLink]
    rate_link: NavigationLink | None
    inbox: list[entry_counts.EntryCount]

    @property
    def current_entry(self) -> NavigationLink | None:
        return next((entry for entry in self.entries if entry.is_current), None)


def iter_permitted_entries(role: str) -> Iterator[tuple[NavigationEntry, list[NavigationTab]]]:
    """Yield the entries of the sidebar for a role, each with the tabs that the role may open."""
    for entry in PROJECT_ENTRIES:
        tabs = [tab for tab in entry.tabs if tab.capability is None or may(role, tab.capability)]
        if tabs:
            yield entry, tabs


def build_project_navigation(project: Any, path: str, question: str = "") -> ProjectNavigation:
    """Return the navigation of ``project`` for the user's role in it (``project.role``).

    ``path``: the path of the page; ``question``: key of the question that it shows, which the tabs
    keep.
    """
    permitted_entries = list(iter_permitted_entries(project.role))
    inbox = list_inbox_entries(project)
    counts = _count_by_page(project, inbox)
    current = _find_current_tab([tab for _entry, tabs in permitted_entries for tab in tabs], path)
    entries, current_tabs = [], []
    query = f"?{urlencode({'question': question})}" if question else ""
    for entry, tabs in permitted_entries:
        urls = [reverse(tab.url_name, args=[project.pk]) for tab in tabs]
        count = sum(counts.get(tab.url_name, 0) for tab in tabs)
        entries.append(NavigationLink(entry.label, urls[0], current in tabs, count, entry.shortcut))
        if current in tabs and len(tabs) > 1:
            current_tabs = [
                NavigationLink(tab.label, url + query, tab is current, counts.get(tab.url_name, 0))
                for tab, url in zip(tabs, urls, strict=True)
            ]
    rate_link = None
    if may(project.role, Capability.RATE) and project.archived_at is None:
        url = reverse("rate", args=[project.pk])
        rate_link = NavigationLink(_("Rate"), url, path.startswith(url), shortcut=RATE_SHORTCUT)
    return ProjectNavigation(entries, current_tabs, rate_link, inbox)


def list_project_pages(project: Any) -> list[NavigationLink]:
    """Return a link to each page of the navigation that the user may open, without counts."""
    links = []
    for entry, tabs in iter_permitted_entries(project.role):
        for tab in tabs:
            label = entry.label if tab is tabs[0] and len(tabs) == 1 else tab.label
            links.append(NavigationLink(label, reverse(tab.url_name, args=[project.pk])))
    if may(project.role, Capability.RATE) and project.archived_at is None:
        links.append(NavigationLink(_("Rate"), reverse("rate", args=[project.pk])))
    return links


def _find_current_tab(tabs: list[NavigationTab], path: str) -> NavigationTab | None:
    """Return the tab with the longest path that ``path`` begins with, or None."""
    # /projects/1/alerts/settings/ -> alerts/settings
    parts = path.split("/")
    if parts[:2] != ["", "projects"] or len(parts) < 4:
        return None
    segments = [part for part in parts[3:] if part]
    by_path = {tab_path: tab for tab in tabs for tab_path in tab.paths}
    for length in range(len(segments), 0, -1):
        tab = by_path.get("/".join(segments[:length]))
        if tab is not None:
            return tab
    return by_path.get("") if not segments else None


def _count_by_page(project: Any, inbox: list[entry_counts.EntryCount]) -> dict[str, int]:
    """Return {URL name: number of things on the page that need an action of the user}."""
    counts: dict[str, int] = {}
    for entry in inbox:
        counts[entry.kind] = counts.get(entry.kind, 0) + entry.number
    if may(project.role, Capability.REVIEW):
        counts[entry_counts.UNCERTAIN_ITEMS] = entry_counts.count_uncertain_items(
            project, MAX_COUNT
        )
    if may(project.role, Capability.MANAGE):
        counts["skipped_and_flagged"] = count_skipped_or_flagged_items(project)
    return counts


def list_site_links(user: Any, path: str) -> list[NavigationLink]:
    """Return the sidebar of the pages outside of projects.

    Users who only annotate get the list of projects alone. ``path``: that of the current page.
    """
    only_annotates = _is_annotator_only(user)
    pages = [page for page in SITE_ENTRIES if page.url_name == "projects" or not only_annotates]
    return _build_site_links(pages, path)


def list_user_menu(user: Any, path: str) -> list[NavigationLink]:
    """Return the links of the user's own menu, without pages that this user may not open.

    ``path``: the path of the page, by which the current link is marked.
    """
    permitted = {SiteAccess.EVERYBODY}
    if user.is_staff or user.is_superuser:
        permitted.add(SiteAccess.STAFF)
    if user.is_superuser:
        permitted.add(SiteAccess.SUPERUSERS)
    return _build_site_links([page for page in USER_MENU if page.access in permitted], path)


def _build_site_links(pages: list[SitePage], path: str) -> list[NavigationLink]:
    urls = [(page, reverse(page.url_name)) for page in pages]
    return [NavigationLink(page.label, url, url == path) for page, url in urls]


def _is_annotator_only(user: Any) -> bool:
    """Return whether the user has roles in projects, but sees results in none of them.

    False for staff and superusers.
    """
    if user.is_staff or user.is_superuser:
        return False
    roles = Member.objects.filter(user=user.pk).order_by().values_list("role", flat=True)
    own_roles = set(roles.distinct())
    return bool(own_roles) and not any(may(role, Capability.SEE_RESULTS) for role in own_roles)


def count_skipped_or_flagged_items(project: Project) -> int:
    """Return the number of items that raters skipped or flagged, at most MAX_COUNT."""
    return Assignment.objects.skipped_or_flagged_in(project)[:MAX_COUNT].count()


def list_inbox_entries(project: Any) -> list[entry_counts.EntryCount]:
    """Return the counts of the project's inbox for its leads; empty for other roles."""
    if not may(project.role, Capability.MANAGE):
        return []
    return entry_counts.get_project_entries(project)


def list_other_projects(user: Any, project: Any) -> list[tuple[str, str]]:
    """Return (name, start URL) of the user's other active projects, last joined first."""
    memberships = Member.objects.filter(user=user.pk, project__archived_at__isnull=True)
    other_memberships = memberships.exclude(project=project.pk).order_by("-pk")
    rows = other_memberships.values_list("project", "project__name", "role")[:MAX_SWITCHER_PROJECTS]
    return [(name, get_start_url(pk, role)) for pk, name, role in rows]


def get_start_url(project_id: int, role: str) -> str:
    """Return the URL where a user with this role starts in a project."""
    return reverse("dashboard" if may(role, Capability.SEE_RESULTS) else "rate", args=[project_id])
