"""Items with audio, video, images and conversations on the annotation page."""

from __future__ import annotations

import base64
import io
import wave
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from playwright.sync_api import Page, expect

from projects.models import Item
from ratings.files import media
from tests.browser.conftest import LAYOUT_SHIFT_SCRIPT, check_accessibility
from tests.browser.journeys.conftest import PHONE

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

N_SECONDS = 30
# Record a film of 320 x 240 pixels, and return it in base64.
RECORD_SCRIPT = """async () => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 320, height: 240 });
    const context = canvas.getContext("2d");
    const recorder = new MediaRecorder(canvas.captureStream(20), { mimeType: "video/webm" });
    const parts = [];
    recorder.ondataavailable = (event) => parts.push(event.data);
    recorder.start();
    for (let frame = 0; frame < 12; frame += 1) {
        context.fillStyle = `hsl(${frame * 20} 60% 50%)`;
        context.fillRect(0, 0, 320, 240);
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await new Promise((resolve) => { recorder.onstop = resolve; recorder.stop(); });
    const bytes = new Uint8Array(await new Blob(parts).arrayBuffer());
    return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}"""


@pytest.fixture(autouse=True)
def media_folder(settings: Any, tmp_path: Any) -> None:
    settings.DATA_DIR = tmp_path


@pytest.fixture
def upload(project: Any, lead: Any) -> Any:
    """Return ``upload(name, content)``, which adds a file that becomes an item."""

    def add(name: str, content: bytes) -> None:
        file = SimpleUploadedFile(name, content)
        media.add_media_items(project=project, files=[file], by=lead)

    return add


def make_audio() -> bytes:
    target = io.BytesIO()
    with wave.open(target, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(1)
        file.setframerate(8000)  # browsers play nothing below 3,000
        file.writeframes(b"\x80" * 8000 * N_SECONDS)
    return target.getvalue()


def get_player_value(page: Page, name: str) -> Any:
    return page.locator("audio, video").first.evaluate(f"(player) => player.{name}")


@pytest.fixture
def audio_page(open_annotation: Any, annotator: Any, upload: Any) -> Page:
    upload("call.wav", make_audio())
    page: Page = open_annotation(annotator)
    player = page.locator("audio")
    expect(player).to_have_js_property("duration", N_SECONDS)
    return page


def test_audio_is_played_by_key(audio_page):
    page = audio_page
    expect(page.locator("audio")).to_have_accessible_name("Audio")
    play = page.locator("[data-media=large]")
    page.keyboard.press("Space")
    expect(play).to_contain_text("Pause")
    assert get_player_value(page, "paused") is False
    page.keyboard.press("Space")
    expect(play).to_contain_text("Play")
    assert get_player_value(page, "paused") is True
    for key, seconds in (("ArrowRight", 5), ("ArrowRight", 10), ("ArrowLeft", 5)):
        before = get_player_value(page, "currentTime")
        page.keyboard.press(key)
        step = 5 if key == "ArrowRight" else -5
        assert get_player_value(page, "currentTime") == pytest.approx(before + step, abs=0.05), (
            seconds
        )
    for _press in range(3):
        page.keyboard.press("ArrowLeft")
    assert get_player_value(page, "currentTime") == 0
    page.keyboard.press("Shift+ArrowUp")
    page.keyboard.press("Shift+ArrowUp")
    assert get_player_value(page, "playbackRate") == 1.5
    expect(page.locator(".stage__level")).to_have_text("1.5×")
    page.keyboard.press("Shift+ArrowDown")
    assert get_player_value(page, "playbackRate") == 1.25
    page.keyboard.press("2")  # the answers keep their keys
    expect(page.get_by_label("minor")).to_be_checked()


def test_speed_is_kept_for_the_next_item(audio_page):
    page = audio_page
    page.get_by_role("button", name="Faster").click()
    page.reload()
    expect(page.locator(".stage__level")).to_have_text("1.25×")
    assert get_player_value(page, "playbackRate") == 1.25


def test_media_keys_keep_their_meaning_in_answers_and_fields(audio_page):
    page = audio_page
    page.locator(".choice input").first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_label("minor")).to_be_checked()
    page.keyboard.press("c")
    page.keyboard.type("two words")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_label("Comment", exact=True)).to_have_value("two words")
    assert (get_player_value(page, "paused"), get_player_value(page, "currentTime")) == (True, 0)


def test_switched_off_keys_do_not_play(audio_page):
    page = audio_page
    page.locator("summary", has_text="More").click()
    page.locator("#desk-sheet").get_by_label("Enable single-key shortcuts").uncheck()
    page.keyboard.press("Escape")
    page.locator(".item-body").focus()
    page.keyboard.press("Space")
    assert get_player_value(page, "paused") is True
    page.get_by_role("button", name="Forward 5 seconds").click()
    assert get_player_value(page, "currentTime") == 5


@pytest.mark.parametrize("options", [{}, PHONE])
def test_small_film_stays_small_and_nothing_moves(open_annotation, annotator, upload, options):
    page = open_annotation(annotator, "guidelines/", **options)
    upload("clip 1.webm", base64.b64decode(page.evaluate(RECORD_SCRIPT)))
    page.context.add_init_script(LAYOUT_SHIFT_SCRIPT)
    page.goto(page.url.replace("guidelines/", "rate/"))
    video = page.locator("video")
    expect(video).to_have_accessible_name("Video")
    expect(video).to_have_js_property("videoWidth", 320)
    expect(video).to_have_css("object-fit", "scale-down")  # never larger than it is
    page.keyboard.press("Space")
    expect(page.locator("[data-media=large]")).to_contain_text("Pause")
    assert (page.evaluate("window.moved"), page.evaluate("window.movers")) == ([], [])
    box, answers_box = video.bounding_box(), page.locator(".answers").bounding_box()
    assert box["y"] + box["height"] <= answers_box["y"]
    check_accessibility(page)


@pytest.mark.parametrize("options", [{}, PHONE])
def test_image_is_zoomed_in_its_frame(open_annotation, annotator, project, options):
    svg = b"<svg xmlns='http://www.w3.org/2000/svg' width='1500' height='1000'><circle r='900'/></svg>"
    Item.objects.create(
        project=project, key="i", body={"image": f"/projects/{project.pk}/media/wide"}
    )
    page = open_annotation(annotator, "guidelines/", **options)
    page.route("**/media/wide", lambda r: r.fulfill(body=svg, content_type="image/svg+xml"))
    page.goto(page.url.replace("guidelines/", "rate/"))
    image, view = page.locator(".stage img"), page.locator(".stage__view")
    expect(image).to_have_js_property("complete", value=True)
    frame_box, fit_box = view.bounding_box(), image.bounding_box()
    answers_box = page.locator(".answers").bounding_box()
    assert fit_box["width"] <= frame_box["width"] and fit_box["height"] <= frame_box["height"]
    page.keyboard.press("Shift+ArrowUp")
    page.get_by_role("button", name="Zoom in").click()
    expect(page.locator(".stage__level")).to_have_text("200%")
    zoomed_box = image.bounding_box()
    assert zoomed_box["width"] == pytest.approx(2 * fit_box["width"], abs=2)
    assert zoomed_box["width"] / zoomed_box["height"] == pytest.approx(1.5, abs=0.02)
    assert view.bounding_box() == frame_box
    assert page.locator(".answers").bounding_box() == answers_box
    # Its middle is in sight.
    assert view.evaluate("(element) => element.scrollLeft + element.scrollTop") > 0
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Shift+ArrowDown")
    assert image.bounding_box() == fit_box
    page.keyboard.press("Space")
    expect(page.get_by_role("dialog", name="Enlarge image")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    expect(page.get_by_label("none")).to_be_checked()
    check_accessibility(page)


def test_speakers_differ_by_side_and_colour(open_annotation, annotator, project):
    turns = [
        {"role": role, "content": f"{role} says"}
        for role in ("system", "user", "assistant", "user", "assistant")
    ]
    Item.objects.create(project=project, key="i", body={"messages": turns})
    page = open_annotation(annotator)

    def describe(number: int) -> tuple[float, str]:
        turn = page.locator(".turns__turn").nth(number)
        color = turn.evaluate("(element) => getComputedStyle(element).backgroundColor")
        return turn.bounding_box()["x"], color

    assert describe(1) == describe(3) != describe(2) == describe(4)
    assert describe(1)[0] < describe(2)[0]
    assert describe(1)[1] != describe(2)[1]
    assert describe(0)[1] not in {describe(1)[1], describe(2)[1]}
    expect(page.locator(".turns__speaker").nth(2)).to_have_text("assistant")


def test_text_from_right_to_left_reaches_the_edge(open_annotation, annotator, project):
    Item.objects.create(project=project, key="i", body={"text": "اجتمعت اللجنة يوم الثلاثاء " * 30})
    page = open_annotation(annotator)
    card, text = page.locator(".item-body"), page.locator(".item-body__text")
    card_box, text_box = card.bounding_box(), text.bounding_box()
    assert card_box["x"] + card_box["width"] - (text_box["x"] + text_box["width"]) <= 40
    expect(text).to_have_css("direction", "rtl")
