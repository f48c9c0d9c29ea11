"""ZIP archives of media files with a manifest, in the wizard and on the command line."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from projects.models import Item, Project
from ratings.imports import uploads, zip_archives
from ratings.models import ImportRun
from tests.ratings.imports.test_command import import_with_scale as run_command
from tests.ratings.imports.wizard_client import (
    WizardClient,
    get_labels,
    get_page_text,
    list_stored_files,
    snapshot_import_tables,
)

pytestmark = pytest.mark.django_db

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
WAV = b"RIFF1234WAVE" + bytes(40)
TABLE = "id,picture,lang\na,pics/1.png,en\nb,2.png,de\n"


@pytest.fixture(autouse=True)
def data_dir(settings: Any, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path


@pytest.fixture
def wizard(project: Project, lead: Any, client_for: Any) -> WizardClient:
    return WizardClient(client_for(lead), project)


def build_zip(files: Mapping[str, bytes | str]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return file.getvalue()


VALID_ARCHIVE: dict[str, bytes | str] = {
    "set/manifest.csv": TABLE,
    "set/pics/1.png": PNG + b"1",
    "set/pics/2.png": PNG + b"2",
    "__MACOSX/set/._manifest.csv": b"\0",
    "set/.DS_Store": b"\0",
}


def read_stored_media(data_dir: Path, project: Project) -> set[bytes]:
    return {path.read_bytes() for path in (data_dir / "media" / str(project.pk)).glob("*")}


def test_items_show_the_images_of_the_archive(
    wizard: WizardClient, project: Project, data_dir: Path
) -> None:
    run = wizard.upload_and_validate(build_zip(VALID_ARCHIVE))
    assert run.state == "checked", run.problems
    page = get_page_text(wizard.get_page())
    assert "files/" in page
    position = page.partition("files/")[2].partition("/")[0]
    # as a browser requests an image of a page
    image_response: Any = wizard.client.get(
        f"{wizard.run_url}files/{position}/", headers={"Sec-Fetch-Dest": "image"}
    )
    assert b"".join(image_response.streaming_content) == PNG + b"1"
    assert image_response["Content-Type"] == "image/png"
    assert wizard.client.get(f"{wizard.run_url}files/0/").status_code == 404  # the manifest
    assert wizard.client.get(f"{wizard.run_url}files/99/").status_code == 404
    assert not read_stored_media(data_dir, project)
    wizard.start_import()
    assert wizard.run_worker().state == "done"
    assert read_stored_media(data_dir, project) == {PNG + b"1", PNG + b"2"}
    image_urls = {item.key: item.body["image"] for item in Item.objects.filter(project=project)}
    response: Any = wizard.client.get(image_urls["b"])
    assert b"".join(response.streaming_content) == PNG + b"2"
    assert Item.objects.get(key="a").attributes == {"lang": "en"}
    assert not list_stored_files()
    # Importing the archive again changes nothing.
    before = snapshot_import_tables()
    assert wizard.import_file(build_zip(VALID_ARCHIVE)).summary["outcome"]["items_unchanged"] == 2
    assert snapshot_import_tables() == before


def test_archive_with_ratings_on_the_command_line(
    tmp_path: Path, lead: Any, data_dir: Path
) -> None:
    lines = '{"item":"a","image":"x.png","sound":"y.wav","rater":"ann","label":"A"}\n'
    lines += '{"item":"b","image":"x.png","rater":"ann","label":"B"}\n'
    path = tmp_path / "set.zip"
    path.write_bytes(build_zip({"answers.jsonl": lines, "x.png": PNG, "y.wav": WAV}))
    status, report = run_command(path, name="Made", owner=lead.username)
    assert (status, report["items"], report["ratings"], report["problems"]) == (0, 2, 2, [])
    project = Project.objects.get(name="Made")
    assert read_stored_media(data_dir, project) == {PNG, WAV}
    assert get_labels(project.questions.get())["b", "ann"] == "B"
    assert not list_stored_files()


@pytest.fixture
def assert_unchanged() -> Iterator[None]:
    before = snapshot_import_tables()
    yield
    assert snapshot_import_tables() == before
    assert not list_stored_files()


def build_bomb() -> bytes:
    return build_zip({"manifest.csv": TABLE, "1.png": PNG + bytes(3_000_000)})


def build_encrypted_zip() -> bytes:
    content = build_zip({"manifest.csv": TABLE, "1.png": PNG})
    offset = content.rindex(b"PK\x01\x02") + 8
    return content[:offset] + b"\x01" + content[offset + 1 :]


def build_zip_with_announced_count(count: int) -> bytes:
    content = build_zip({"manifest.csv": TABLE})
    offset = content.rindex(b"PK\x05\x06") + 10
    return content[:offset] + count.to_bytes(2, "little") + content[offset + 2 :]


INVALID_ARCHIVES = {
    "no manifest": (build_zip({"1.png": PNG}), "needs a table of its media files"),
    "two manifests": (build_zip({"a.csv": TABLE, "b.csv": TABLE}), "Keep one of these tables"),
    "dots": (
        build_zip({"m.csv": TABLE, "../1.png": PNG}),
        "'../1.png' points outside the ZIP",
    ),
    "absolute": (build_zip({"m.csv": TABLE, "/etc/1.png": PNG}), "'/etc/1.png' points outside"),
    "backslash": (build_zip({"m.csv": TABLE, "..\\1.png": PNG}), "'..\\1.png' points outside"),
    "drive": (build_zip({"m.csv": TABLE, "C:1.png": PNG}), "'C:1.png' points outside"),
    "no picture": (
        build_zip({"m.csv": TABLE, "x/page.svg": "<svg/>"}),
        "'x/page.svg' from the ZIP",
    ),
    "zip inside": (
        build_zip({"m.csv": TABLE, "in.zip": build_bomb()}),
        "'in.zip' from the ZIP",
    ),
    "locked": (
        build_encrypted_zip(),
        "'1.png' is damaged or needs a password",
    ),
    "many files": (build_zip_with_announced_count(30_000), "exceeds 20000 files"),
    "cut off": (build_zip(VALID_ARCHIVE)[:-30], "file is damaged"),
    "manifest is none": (build_zip({"m.csv": b"\x89PNG" + bytes(99)}), "file type isn't supported"),
}


@pytest.mark.parametrize("case", INVALID_ARCHIVES)
def test_invalid_archive_is_refused_at_upload(
    wizard: WizardClient, assert_unchanged: None, case: str
) -> None:
    content, complaint = INVALID_ARCHIVES[case]
    response = wizard.upload(content, "set.zip")
    assert response.status_code == 400
    assert complaint in get_page_text(response)
    assert not ImportRun.objects.exists()


def test_large_files_are_refused_by_their_announced_size(
    wizard: WizardClient, assert_unchanged: None, settings: Any
) -> None:
    settings.MEDIA_MAX_BYTES = 1_000_000
    assert "'1.png' has 3000048 bytes (limit: 1000000)" in get_page_text(
        wizard.upload(build_bomb())
    )
    settings.MEDIA_MAX_BYTES, settings.IMPORT_MAX_BYTES = 9_000_000, 1_000_000
    assert "exceeds 1000000 bytes" in get_page_text(wizard.upload(build_bomb()))


def test_repeated_name_in_an_archive_is_refused(
    wizard: WizardClient, assert_unchanged: None
) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive, pytest.warns(UserWarning, match="Duplicate"):
        for name in ("m.csv", "1.png", "1.png"):
            archive.writestr(name, TABLE if name == "m.csv" else PNG)
    assert "'1.png' occurs twice" in get_page_text(wizard.upload(file.getvalue()))


def test_files_named_by_the_manifest_must_exist(wizard: WizardClient) -> None:
    table = "id,picture,sound\na,1.png,\nb,none.png,\nc,,1.png\n".replace("1.png\n", "y.wav\n")
    run = wizard.upload_and_validate(
        build_zip({"m.csv": table, "1.png": PNG, "y.wav": PNG + b"no sound"}), audio="2"
    )
    assert run.state == "invalid"
    assert [(problem["line"], problem["values"]["value"]) for problem in run.problems] == [
        (3, "none.png"),
        (4, "y.wav"),
    ]
    assert "'none.png' is neither in the ZIP" in get_page_text(wizard.get_page())
    assert not Item.objects.exists()
    wizard.client.post(wizard.run_url, {"action": "discard"})
    assert not list_stored_files()


def test_damaged_image_is_reported_and_nothing_is_stored(wizard: WizardClient) -> None:
    content = build_zip(VALID_ARCHIVE)
    data_start = content.index(b"set/pics/1.png") + len("set/pics/1.png")
    data_end = content.index(b"PK\x03\x04", data_start)
    damaged = content[: data_end - 4] + b"\xff\xff\xff\xff" + content[data_end:]
    response = wizard.upload(damaged)
    if response.status_code == 302:
        wizard.choose_columns()
        assert "'set/pics/1.png' is damaged" in get_validation_error_page(wizard)
    else:
        assert "'set/pics/1.png' is damaged" in get_page_text(response)
    assert not Item.objects.exists()


def get_validation_error_page(wizard: WizardClient) -> str:
    assert wizard.run_worker().state == "invalid"
    return get_page_text(wizard.get_page())


def test_import_resumes_after_a_failed_write(
    wizard: WizardClient, project: Project, monkeypatch: Any
) -> None:
    assert wizard.upload_and_validate(build_zip(VALID_ARCHIVE)).state == "checked"
    wizard.start_import()

    def raise_disk_full(*_arguments: Any) -> None:
        raise OSError("the disc is full")

    with monkeypatch.context() as patched:
        patched.setattr(zip_archives.media, "store_file", raise_disk_full)
        assert wizard.run_worker().state == "writing"
    assert not Item.objects.exists()
    assert wizard.run_worker().state == "done"
    assert Item.objects.filter(project=project).count() == 2


def test_damaged_archive_copy_stops_the_import(wizard: WizardClient) -> None:
    wizard.upload_and_validate(build_zip(VALID_ARCHIVE))
    wizard.start_import()
    beside = uploads.get_absolute_path(wizard.run.path + zip_archives.ARCHIVE_SUFFIX)
    beside.write_bytes(b"PK")
    assert wizard.run_worker().state in ("writing", "failed")
    assert not Item.objects.exists()
