"""A ZIP archive of pictures with a manifest, in the wizard and on the command line."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from projects.models import Item, Project
from ratings.imports import archives, uploads
from ratings.models import ImportRun
from tests.ratings.imports.test_command import run as run_command
from tests.ratings.imports.wizard_client import Wizard, said, stored, words, world

pytestmark = pytest.mark.django_db

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
WAV = b"RIFF1234WAVE" + bytes(40)
TABLE = "id,picture,lang\na,pics/1.png,en\nb,2.png,de\n"


@pytest.fixture(autouse=True)
def data_dir(settings: Any, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path


@pytest.fixture
def wizard(project: Project, lead: Any, client_for: Any) -> Wizard:
    return Wizard(client_for(lead), project)


def zipped(files: Mapping[str, bytes | str]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return file.getvalue()


GOOD: dict[str, bytes | str] = {
    "set/manifest.csv": TABLE,
    "set/pics/1.png": PNG + b"1",
    "set/pics/2.png": PNG + b"2",
    "__MACOSX/set/._manifest.csv": b"\0",
    "set/.DS_Store": b"\0",
}


def kept(data_dir: Path, project: Project) -> set[bytes]:
    return {path.read_bytes() for path in (data_dir / "media" / str(project.pk)).glob("*")}


def test_items_show_the_pictures_of_the_archive(
    wizard: Wizard, project: Project, data_dir: Path
) -> None:
    run = wizard.check(zipped(GOOD))
    assert run.state == "checked", run.problems
    page = words(wizard.page())
    assert "files/" in page
    place = page.partition("files/")[2].partition("/")[0]
    # as a browser asks for the picture of a page
    shown: Any = wizard.client.get(
        f"{wizard.address}files/{place}/", headers={"Sec-Fetch-Dest": "image"}
    )
    assert b"".join(shown.streaming_content) == PNG + b"1"
    assert shown["Content-Type"] == "image/png"
    assert wizard.client.get(f"{wizard.address}files/0/").status_code == 404  # the manifest
    assert wizard.client.get(f"{wizard.address}files/99/").status_code == 404
    assert not kept(data_dir, project)
    wizard.start()
    assert wizard.work().state == "done"
    assert kept(data_dir, project) == {PNG + b"1", PNG + b"2"}
    addresses = {item.key: item.body["image"] for item in Item.objects.filter(project=project)}
    response: Any = wizard.client.get(addresses["b"])
    assert b"".join(response.streaming_content) == PNG + b"2"
    assert Item.objects.get(key="a").attributes == {"lang": "en"}
    assert not stored()
    # again: nothing changes
    before = world()
    assert wizard.all(zipped(GOOD)).summary["outcome"]["items_unchanged"] == 2
    assert world() == before


def test_on_the_command_line_with_ratings(tmp_path: Path, lead: Any, data_dir: Path) -> None:
    lines = '{"item":"a","image":"x.png","sound":"y.wav","rater":"ann","label":"A"}\n'
    lines += '{"item":"b","image":"x.png","rater":"ann","label":"B"}\n'
    path = tmp_path / "set.zip"
    path.write_bytes(zipped({"answers.jsonl": lines, "x.png": PNG, "y.wav": WAV}))
    status, told = run_command(path, name="Made", owner=lead.username)
    assert (status, told["items"], told["ratings"], told["problems"]) == (0, 2, 2, [])
    project = Project.objects.get(name="Made")
    assert kept(data_dir, project) == {PNG, WAV}
    assert said(project.questions.get())["b", "ann"] == "B"
    assert not stored()


@pytest.fixture
def unchanged() -> Iterator[None]:
    before = world()
    yield
    assert world() == before
    assert not stored()


def bomb() -> bytes:
    return zipped({"manifest.csv": TABLE, "1.png": PNG + bytes(3_000_000)})


def locked() -> bytes:
    content = zipped({"manifest.csv": TABLE, "1.png": PNG})
    at = content.rindex(b"PK\x01\x02") + 8
    return content[:at] + b"\x01" + content[at + 1 :]


def many(count: int) -> bytes:
    content = zipped({"manifest.csv": TABLE})
    at = content.rindex(b"PK\x05\x06") + 10
    return content[:at] + count.to_bytes(2, "little") + content[at + 2 :]


REFUSED = {
    "no manifest": (zipped({"1.png": PNG}), "has no manifest"),
    "two manifests": (zipped({"a.csv": TABLE, "b.csv": TABLE}), "more than one table"),
    "dots": (zipped({"m.csv": TABLE, "../1.png": PNG}), "'../1.png' in the ZIP archive leads out"),
    "absolute": (zipped({"m.csv": TABLE, "/etc/1.png": PNG}), "'/etc/1.png' in the ZIP"),
    "backslash": (zipped({"m.csv": TABLE, "..\\1.png": PNG}), "'..\\1.png' in the ZIP"),
    "drive": (zipped({"m.csv": TABLE, "C:1.png": PNG}), "'C:1.png' in the ZIP"),
    "no picture": (zipped({"m.csv": TABLE, "x/page.svg": "<svg/>"}), "'x/page.svg' in the ZIP"),
    "zip inside": (zipped({"m.csv": TABLE, "in.zip": bomb()}), "'in.zip' in the ZIP archive is no"),
    "locked": (locked(), "'1.png' in the ZIP archive is protected by a password"),
    "many files": (many(30_000), "too many files; 20000 at most"),
    "cut off": (zipped(GOOD)[:-30], "ZIP archive or Excel workbook cannot be read"),
    "manifest is none": (zipped({"m.csv": b"\x89PNG" + bytes(99)}), "no text file"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_at_upload(wizard: Wizard, unchanged: None, case: str) -> None:
    content, complaint = REFUSED[case]
    response = wizard.upload(content, "set.zip")
    assert response.status_code == 400
    assert complaint in words(response)
    assert not ImportRun.objects.exists()


def test_bombs_and_large_files_are_refused_by_their_announced_size(
    wizard: Wizard, unchanged: None, settings: Any
) -> None:
    settings.MEDIA_MAX_BYTES = 1_000_000
    assert "'1.png' in the ZIP archive has 3000048 bytes; 1000000" in words(wizard.upload(bomb()))
    settings.MEDIA_MAX_BYTES, settings.IMPORT_MAX_BYTES = 9_000_000, 1_000_000
    assert "more than 1000000 bytes" in words(wizard.upload(bomb()))


def test_the_same_name_twice(wizard: Wizard, unchanged: None) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive, pytest.warns(UserWarning, match="Duplicate"):
        for name in ("m.csv", "1.png", "1.png"):
            archive.writestr(name, TABLE if name == "m.csv" else PNG)
    assert "'1.png' stands twice" in words(wizard.upload(file.getvalue()))


def test_what_the_manifest_names_must_be_there(wizard: Wizard) -> None:
    table = "id,picture,sound\na,1.png,\nb,none.png,\nc,,1.png\n".replace("1.png\n", "y.wav\n")
    run = wizard.check(
        zipped({"m.csv": table, "1.png": PNG, "y.wav": PNG + b"no sound"}), audio="2"
    )
    assert run.state == "refused"
    assert [(one["line"], one["values"]["value"]) for one in run.problems] == [
        (3, "none.png"),
        (4, "y.wav"),
    ]
    assert "The ZIP archive has no sound 'y.wav'" in words(wizard.page())
    assert not Item.objects.exists()
    wizard.client.post(wizard.address, {"do": "discard"})
    assert not stored()


def test_a_damaged_picture_is_named_and_nothing_stored(wizard: Wizard) -> None:
    content = zipped(GOOD)
    at = content.index(b"set/pics/1.png") + len("set/pics/1.png")
    end = content.index(b"PK\x03\x04", at)
    damaged = content[: end - 4] + b"\xff\xff\xff\xff" + content[end:]
    response = wizard.upload(damaged)
    if response.status_code == 302:
        wizard.choose()
        assert "'set/pics/1.png' is damaged" in wizard_problem(wizard)
    else:
        assert "'set/pics/1.png' is damaged" in words(response)
    assert not Item.objects.exists()


def wizard_problem(wizard: Wizard) -> str:
    assert wizard.work().state == "refused"
    return words(wizard.page())


def test_killed_while_writing_goes_on(wizard: Wizard, project: Project, monkeypatch: Any) -> None:
    assert wizard.check(zipped(GOOD)).state == "checked"
    wizard.start()

    def die(*_arguments: Any) -> None:
        raise OSError("the disc is full")

    with monkeypatch.context() as patched:
        patched.setattr(archives.media, "store_file", die)
        assert wizard.work().state == "writing"
    assert not Item.objects.exists()
    assert wizard.work().state == "done"
    assert Item.objects.filter(project=project).count() == 2


def test_an_archive_that_is_gone_is_told(wizard: Wizard) -> None:
    wizard.check(zipped(GOOD))
    wizard.start()
    beside = uploads.get_absolute_path(wizard.run.path + archives.ARCHIVE_SUFFIX)
    beside.write_bytes(b"PK")
    assert wizard.work().state in ("writing", "failed")
    assert not Item.objects.exists()
