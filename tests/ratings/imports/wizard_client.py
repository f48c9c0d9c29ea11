"""The import wizard as a lead uses it, for tests: through HTTP, with the worker's task called by
hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from projects.models import Category, Item, Project, Question, Rater
from ratings import tasks
from ratings.imports import uploads
from ratings.models import ImportRun, Rating, Revision
from tests.row_snapshots import rows_of

if TYPE_CHECKING:
    from django.test.client import _MonkeyPatchedWSGIResponse as Response


def world() -> dict[str, list[Any]]:
    """Everything that an import could change."""
    return rows_of((Project, Question, Category, Item, Rater, Rating, Revision))


def said(question: Question) -> dict[tuple[str, str], str]:
    """(item, rater) -> label of what stands."""
    # No joins: in a test's one transaction PostgreSQL has no statistics of the rows that were just
    # imported.
    labels = dict(question.categories.values_list("code", "label"))
    items = dict(question.project.items.values_list("id", "key"))
    raters = dict(question.project.raters.values_list("id", "key"))
    rows = (
        Rating.objects.current()
        .filter(question=question)
        .values_list("item_id", "rater_id", "code")
    )
    return {(items[item], raters[rater]): labels[code] for item, rater, code in rows}


def stored() -> set[str]:
    """The names of the files that imports hold on disk."""
    folder = uploads.get_absolute_path(uploads.FOLDER)
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()


class Wizard:
    def __init__(self, client: Client, project: Project | None = None) -> None:
        self.client = client
        self.project = project
        self.address = ""

    @property
    def entrance(self) -> str:
        return f"/projects/{self.project.pk}/data/import/" if self.project else "/projects/import/"

    @property
    def run(self) -> ImportRun:
        return ImportRun.objects.latest("id")

    def upload(self, content: bytes, name: str = "ratings.csv") -> Response:
        response = self.client.post(self.entrance, {"file": SimpleUploadedFile(name, content)})
        if response.status_code == 302:
            self.address = response["Location"]
        return response

    def paste(self, text: str, **fields: Any) -> Response:
        response = self.client.post(self.entrance, {"pasted": text, **fields})
        if response.status_code == 302:
            self.address = response["Location"]
        return response

    def page(self) -> Response:
        return self.client.get(self.address)

    def choose(self, **fields: Any) -> Response:
        """Accept the guesses, but for the given fields, and ask for the check."""
        context = self.page().context
        return self.client.post(
            self.address, _filled(context["reading"], context["form"]) | fields | {"do": "columns"}
        )

    def work(self) -> ImportRun:
        tasks.run_import(self.run.pk)
        return self.run

    def start(self, **fields: Any) -> Response:
        response = self.client.post(
            self.address, _filled(self.page().context["form"]) | fields | {"do": "start"}
        )
        if response.status_code == 302:
            self.address = response["Location"]
        return response

    def check(self, content: bytes, **fields: Any) -> ImportRun:
        """Upload, choose and check."""
        assert self.upload(content).status_code == 302
        assert self.choose(**fields).status_code == 302
        return self.work()

    def all(self, content: bytes, **fields: Any) -> ImportRun:
        """The whole way with the guesses, to the end."""
        run = self.check(content, **fields)
        assert run.state == "checked", run.problems
        assert self.start().status_code == 302
        return self.work()


def _filled(*forms: Any) -> dict[str, Any]:
    """What a browser would send for the forms as they stand on the page."""
    values = {}
    for form in forms:
        for bound in form:
            value = bound.value()
            if value is False:
                continue
            values[bound.html_name] = "" if value is None else value
    return values


def words(response: Response) -> str:
    """The page's text with entities undone."""
    import html

    return html.unescape(response.content.decode())
