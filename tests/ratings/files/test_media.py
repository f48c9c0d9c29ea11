"""Images, audio and video files: who may upload them, what is accepted, and how they are served."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from projects.models import Item, Project

pytestmark = pytest.mark.django_db

PNG = b"\x89PNG\r\n\x1a\n" + b"picture" * 9
MP3 = b"ID3\x04\x00" + bytes(range(256))
MP4 = b"\x00\x00\x00\x20ftypisom" + b"film" * 9


@pytest.fixture
def data_dir(settings: Any, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path


@pytest.fixture
def upload_files(client_for: Any, lead: Any, project: Project, data_dir: Path) -> Any:
    """Return a function that uploads ``(name, content)`` files, as the lead by default."""

    def upload(*files: tuple[str, bytes], user: Any = lead) -> Any:
        uploads = [
            SimpleUploadedFile(name, content, content_type="text/html") for name, content in files
        ]
        return client_for(user).post(f"/projects/{project.pk}/data/media/", {"files": uploads})

    return upload


def list_stored_files(data_dir: Path) -> list[Path]:
    return sorted(path for path in data_dir.rglob("*") if path.is_file())


def build_media_url(project: Project, content: bytes, extension: str) -> str:
    return f"/projects/{project.pk}/media/{hashlib.sha256(content).hexdigest()}.{extension}"


def test_files_become_items(
    upload_files: Any, project: Project, client_for: Any, annotator: Any
) -> None:
    assert upload_files(("a.png", PNG), ("b.MP3", MP3), ("b.mp4", MP4)).status_code == 302
    assert dict(Item.objects.values_list("key", "body")) == {
        "a": {"image": build_media_url(project, PNG, "png")},
        "b": {
            "audio": build_media_url(project, MP3, "mp3"),
            "video": build_media_url(project, MP4, "mp4"),
        },
    }
    page = client_for(annotator).get(f"/projects/{project.pk}/rate/").content.decode()
    assert f'<img class="item-body__media" src="{build_media_url(project, PNG, "png")}"' in page


def test_item_page_shows_content_and_attributes(
    upload_files: Any, project: Project, client_for: Any, lead: Any
) -> None:
    upload_files(("a.png", PNG))
    Item.objects.update(attributes={"source": "web shop"})
    page = client_for(lead).get(f"/projects/{project.pk}/items/a/").content.decode()
    assert f'<img class="item-body__media" src="{build_media_url(project, PNG, "png")}"' in page
    assert "web shop" in page


def test_file_is_added_to_the_item_with_its_name(upload_files: Any, project: Project) -> None:
    item = Item.objects.create(
        project=project, key="a", body={"text": "What is this?"}, attributes={"x": 1}
    )
    upload_files(("a.png", PNG))
    item.refresh_from_db()
    assert item.body == {"text": "What is this?", "image": build_media_url(project, PNG, "png")}
    assert item.attributes == {"x": 1}


def test_the_same_file_again_changes_nothing(upload_files: Any, data_dir: Path) -> None:
    for _ in range(2):
        assert upload_files(("a.png", PNG)).status_code == 302
    assert Item.objects.count() == 1
    assert len(list_stored_files(data_dir)) == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("evil.html", b"<!doctype html><script>alert(1)</script>"),
        ("evil.png", b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"),
        ("evil.gif", b"<script>/*GIF89a*/</script>"),
        ("evil.pdf", b"%PDF-1.7"),
        ("evil.png", b"PK\x03\x04"),
        ("empty.png", b""),
        (" .png", PNG),
    ],
)
def test_unsupported_file_is_refused_and_nothing_is_stored(
    upload_files: Any, data_dir: Path, name: str, content: bytes
) -> None:
    response = upload_files(("good.png", PNG), (name, content))
    assert response.status_code == 400
    assert "Nothing was saved" in response.content.decode()
    assert not Item.objects.exists()
    assert list_stored_files(data_dir) == []


def test_two_files_for_one_field_are_refused(upload_files: Any, project: Project) -> None:
    assert upload_files(("a.png", PNG), ("a.jpg", b"\xff\xd8\xff\xe0" + PNG)).status_code == 400
    upload_files(("a.png", PNG))
    assert upload_files(("a.png", PNG + b"other")).status_code == 400
    assert Item.objects.get().body == {"image": build_media_url(project, PNG, "png")}


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("../../etc/passwd.png", "passwd"),
        ("C:\\x\\photo.png", "photo"),
        ("a\u202egnp.exe.png", "agnp.exe"),
        ("two\nlines.png", "twolines"),
        ("nul\x00.png", "nul"),
        ("x" * 300 + ".png", "x" * 200),
    ],
)
def test_file_name_becomes_the_key_but_never_a_path(
    upload_files: Any, data_dir: Path, project: Project, name: str, key: str
) -> None:
    upload_files((name, PNG))
    assert Item.objects.get().key == key
    expected = data_dir / "media" / str(project.pk) / f"{hashlib.sha256(PNG).hexdigest()}.png"
    assert list_stored_files(data_dir) == [expected]


def test_oversized_upload_is_refused_before_it_is_read(
    upload_files: Any, data_dir: Path, settings: Any
) -> None:
    settings.MEDIA_MAX_BYTES = 10
    assert upload_files(("a.png", PNG + bytes(1 << 20))).status_code == 413
    assert list_stored_files(data_dir) == []


@pytest.mark.parametrize(
    ("name", "status"), [("viewer", 403), ("annotator", 403), ("stranger", 404)]
)
def test_only_leads_upload_files(
    upload_files: Any, data_dir: Path, request: Any, name: str, status: int
) -> None:
    assert upload_files(("a.png", PNG), user=request.getfixturevalue(name)).status_code == status
    assert list_stored_files(data_dir) == []


def test_upload_without_a_file_is_refused(upload_files: Any) -> None:
    assert upload_files().status_code == 400


# --- serving files


def read_body(response: Any) -> bytes:
    return b"".join(response.streaming_content)


@pytest.mark.parametrize("name", ["lead", "annotator", "viewer"])
def test_members_get_the_file_as_an_attachment(
    upload_files: Any, project: Project, client_for: Any, request: Any, name: str
) -> None:
    upload_files(("a.html.png", PNG + b"<script>"))
    response = client_for(request.getfixturevalue(name)).get(
        build_media_url(project, PNG + b"<script>", "png")
    )
    assert read_body(response) == PNG + b"<script>"
    assert response["Content-Type"] == "image/png"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Disposition"].startswith("attachment")
    assert response["Cache-Control"].startswith("private")


def test_only_members_get_the_file(
    upload_files: Any,
    project: Project,
    client_for: Any,
    client: Any,
    lead: Any,
    stranger: Any,
    make_project: Any,
) -> None:
    upload_files(("a.png", PNG))
    media_url = build_media_url(project, PNG, "png")
    assert client.get(media_url).status_code == 302
    assert client_for(stranger).get(media_url).status_code == 404
    assert (
        client_for(lead)
        .get(media_url.replace(f"/{project.pk}/", f"/{make_project('Other').pk}/"))
        .status_code
        == 404
    )


@pytest.mark.parametrize(
    "name",
    ["x.png", "..%2f..%2fsecret_key", "A" * 64 + ".png", "0" * 64 + ".html", "0" * 64 + ".png"],
)
def test_other_names_are_not_found(
    upload_files: Any, project: Project, client_for: Any, lead: Any, name: str
) -> None:
    assert client_for(lead).get(f"/projects/{project.pk}/media/{name}").status_code == 404


@pytest.mark.parametrize(
    ("requested_range", "status", "first", "last"),
    [
        ("bytes=0-", 206, 0, 260),
        ("bytes=5-9", 206, 5, 9),
        ("bytes=250-9999", 206, 250, 260),
        ("bytes=-3", 206, 258, 260),
        ("bytes=-999", 206, 0, 260),
        ("bytes=0-1,5-6", 200, 0, 260),
        ("lines=1-2", 200, 0, 260),
        ("bytes=-", 200, 0, 260),
    ],
)
def test_players_get_the_requested_range(
    upload_files: Any,
    project: Project,
    client_for: Any,
    lead: Any,
    requested_range: str,
    status: int,
    first: int,
    last: int,
) -> None:
    upload_files(("a.mp3", MP3))
    response = client_for(lead).get(
        build_media_url(project, MP3, "mp3"), headers={"Range": requested_range}
    )
    assert (response.status_code, read_body(response)) == (status, MP3[first : last + 1])
    assert response["Accept-Ranges"] == "bytes"
    assert response.get("Content-Range") == (f"bytes {first}-{last}/261" if status == 206 else None)


@pytest.mark.parametrize(
    "requested_range", ["bytes=261-", "bytes=999-1000", "bytes=-0", "bytes=9-5"]
)
def test_range_outside_the_file_is_not_satisfiable(
    upload_files: Any, project: Project, client_for: Any, lead: Any, requested_range: str
) -> None:
    upload_files(("a.mp3", MP3))
    response = client_for(lead).get(
        build_media_url(project, MP3, "mp3"), headers={"Range": requested_range}
    )
    assert (response.status_code, response["Content-Range"]) == (416, "bytes */261")


@pytest.mark.parametrize(
    ("head", "extension"),
    [
        (b"\xff\xd8\xff\xe0", "jpg"),
        (b"GIF89a", "gif"),
        (b"RIFF\x00\x01\x02\nWEBPVP8 ", "webp"),
        (b"RIFF\x00\x01\x02\x03WAVEfmt ", "wav"),
        (b"\x00\x00\x00\x1cftypavif", "avif"),
        (b"\x00\x00\x00\x1cftypM4A \x00", "m4a"),
        (b"\xff\xfb\x90", "mp3"),
        (b"OggS\x00\x02", "ogg"),
        (b"fLaC\x00\x00", "flac"),
        (b"\x1aE\xdf\xa3\x01\x00\x00\x00\x00\x00\x00\x1fB\x82\x84webm", "webm"),
        (b"\x00\x00\x00\x1cftypqt  ", None),
        (b" \x89PNG\r\n\x1a\n", None),
    ],
)
def test_file_type_is_detected_from_the_first_bytes(head: bytes, extension: str | None) -> None:
    from ratings.files.media import detect_extension

    assert detect_extension(head) == extension
