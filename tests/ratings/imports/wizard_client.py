"""Client of the import wizard for tests: a lead's requests over HTTP, and the worker's task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from projects.models import Category, Item, Project, Question, Rater
from ratings import tasks
from ratings.imports import uploads
from ratings.models import ImportRun, Rating, Revision
from tests.row_snapshots import list_rows

if TYPE_CHECKING:
    from django.test.client import _MonkeyPatchedWSGIResponse as Response


def snapshot_import_tables() -> dict[str, list[Any]]:
    """Return all rows that an import could change."""
    return list_rows((Project, Question, Category, Item, Rater, Rating, Revision))


def get_labels(question: Question) -> dict[tuple[str, str], str]:
    """Return (item key, rater key) -> label of the current ratings."""
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


def list_stored_files() -> set[str]:
    """Return the names of the files that imports hold on disk, without the mark of the folder."""
    folder = uploads.get_absolute_path(uploads.FOLDER)
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    return {name for name in names if not name.startswith(".")}


class WizardClient:
    """The wizard of one project, or of a new project, driven through a Django test client."""

    def __init__(self, client: Client, project: Project | None = None) -> None:
        self.client = client
        self.project = project
        self.run_url = ""

    @property
    def upload_url(self) -> str:
        return f"/projects/{self.project.pk}/data/import/" if self.project else "/projects/import/"

    @property
    def run(self) -> ImportRun:
        return ImportRun.objects.latest("id")

    def upload(self, content: bytes, name: str = "ratings.csv") -> Response:
        response = self.client.post(self.upload_url, {"file": SimpleUploadedFile(name, content)})
        if response.status_code == 302:
            self.run_url = response["Location"]
        return response

    def paste(self, text: str, **fields: Any) -> Response:
        response = self.client.post(self.upload_url, {"pasted": text, **fields})
        if response.status_code == 302:
            self.run_url = response["Location"]
        return response

    def get_page(self) -> Response:
        return self.client.get(self.run_url)

    def choose_columns(self, **fields: Any) -> Response:
        """Accept the guesses, except for the given fields, and start the validation."""
        context = self.get_page().context
        return self.client.post(
            self.run_url,
            _collect_form_values(context["reading"], context["form"])
            | fields
            | {"action": "columns"},
        )

    def run_worker(self) -> ImportRun:
        tasks.run_import(self.run.pk)
        return self.run

    def start_import(self, **fields: Any) -> Response:
        response = self.client.post(
            self.run_url,
            _collect_form_values(self.get_page().context["form"]) | fields | {"action": "start"},
        )
        if response.status_code == 302:
            self.run_url = response["Location"]
        return response

    def upload_and_validate(self, content: bytes, **fields: Any) -> ImportRun:
        """Upload the file, choose its columns and validate it."""
        assert self.upload(content).status_code == 302
        assert self.choose_columns(**fields).status_code == 302
        return self.run_worker()

    def import_file(self, content: bytes, **fields: Any) -> ImportRun:
        """Import a file with the guessed columns, from the upload to the end."""
        run = self.upload_and_validate(content, **fields)
        assert run.state == "checked", run.problems
        assert self.start_import().status_code == 302
        return self.run_worker()


def _collect_form_values(*forms: Any) -> dict[str, Any]:
    """Return the data that a browser would send for the forms as they are on the page."""
    values = {}
    for form in forms:
        for bound in form:
            value = bound.value()
            if value is False:
                continue
            values[bound.html_name] = "" if value is None else value
    return values


def get_page_text(response: Response) -> str:
    """Return the text of the page with entities decoded."""
    import html

    return html.unescape(response.content.decode())
