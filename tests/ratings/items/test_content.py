"""Display of item content, and its sanitization."""

import pytest

from ratings.items import content


def list_kinds_and_values(body):
    return [(block.kind, block.value) for block in content.build_blocks(body)]


def test_markup_in_text_is_plain_text():
    assert list_kinds_and_values({"text": "<b>a</b>"}) == [("text", "<b>a</b>")]


@pytest.mark.parametrize("body", [{}, None, ""])
def test_an_empty_body_has_no_blocks(body):
    assert content.build_blocks(body) == []


def test_other_keys_are_rows_of_a_table():
    (table,) = content.build_blocks(
        {"source": "甲", "target": {"en": "A"}, "words": 3, "tags": ["x"]}
    )
    assert table.kind == "table"
    rows = dict(table.rows)
    assert rows["source"] == content.ContentBlock("text", "甲")
    assert rows["target"].rows == (("en", content.ContentBlock("text", "A")),)
    assert rows["words"] == content.ContentBlock("text", "3")
    assert rows["tags"] == content.ContentBlock("data", '[\n  "x"\n]')


@pytest.mark.parametrize("key", ["turns", "messages"])
def test_conversation_is_shown_as_turns(key):
    (turns,) = content.build_blocks({key: [{"role": "user", "content": "Hi"}, {"text": "Hello"}]})
    assert turns.kind == "turns"
    assert turns.rows == (
        ("user", content.ContentBlock("text", "Hi")),
        ("", content.ContentBlock("text", "Hello")),
    )


def test_invalid_conversation_is_shown_as_data():
    (table,) = content.build_blocks({"turns": [1, 2]})
    assert table.rows[0][1].kind == "data"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"image": "data:image/png;base64,AA=="}, "image"),
        ({"image": "/media/a.png"}, "image"),
        ({"audio": "/media/a.ogg"}, "audio"),
        ({"video": "/media/a.webm"}, "video"),
        ({"video": "https://media.example.org/a.webm"}, "video"),
        ({"image": "https://elsewhere.example/a.png"}, "link"),
        ({"image": "//elsewhere.example/a.png"}, "text"),
        ({"image": "/\\elsewhere.example/a.png"}, "text"),
        ({"image": "data:text/html,<script>"}, "text"),
        ({"audio": "data:audio/ogg;base64,AA=="}, "text"),
        ({"image": "javascript:alert(1)"}, "text"),
        ({"image": "http://[broken"}, "link"),
    ],
)
def test_media_are_loaded_only_from_allowed_origins(body, kind, settings):
    settings.ITEM_MEDIA_ORIGINS = ["https://media.example.org"]
    assert [block.kind for block in content.build_blocks(body)] == [kind]


def test_several_images_are_several_blocks():
    assert len(content.build_blocks({"image": ["/a.png", "/b.png", ""]})) == 2


@pytest.mark.parametrize(
    "html",
    [
        "<script>x()</script>",
        "<img src=x onerror=x()>",
        "<a href='javascript:x()'>a</a>",
        "<a href='data:text/html,x()'>a</a>",
        "<img src='https://elsewhere.example/x()'>",
        "<svg onload=x()></svg>",
        "<iframe srcdoc='x()'></iframe>",
        "<form action='/x()'><input value='x()'></form>",
        "<style>x()</style>",
        "<p style='background:url(x())'>a</p>",
        "<base href='x()'>",
        "<math><mtext></form><form><mglyph><style></math><img src onerror=x()>",
    ],
)
def test_html_is_sanitized(html):
    (block,) = content.build_blocks({"html": f"<p>kept</p>{html}"})
    assert "<p>kept</p>" in block.value
    assert "x()" not in block.value


def test_links_send_no_referrer():
    (block,) = content.build_blocks({"html": "<a href='https://a.example/'>a</a>"})
    assert 'rel="noopener noreferrer nofollow"' in block.value


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"text": "a\n b"}, "a b"),
        ({"html": "<p>a &amp; b</p><p>c</p>"}, "a & b c"),
        ({"turns": [{"role": "user", "text": "Hi"}]}, "Hi"),
        ({"source": "甲"}, "甲"),
        ({"words": 3}, ""),
        ({}, ""),
        ("plain", "plain"),
        ({"text": "x" * 200}, "x" * content.MAX_EXCERPT_LENGTH + "…"),
    ],
)
def test_excerpt_of_an_item(body, words):
    assert content.get_excerpt(body) == words


def test_list_line_shows_an_image_or_an_excerpt():
    picture = '<img class="thumbnail" src="/a.png?b=1&amp;c=%22" alt="i1" loading="lazy" decoding="async">'
    for image in ("/a.png?b=1&c=%22", ["/a.png?b=1&c=%22", "/b.png"]):
        assert content.render_inline({"image": image}, "i1") == picture
        assert content.render_inline({"image": image, "text": "<b>"}, "i1") == "<b>"
    assert content.render_inline({"image": "https://other.example/a.png"}).startswith("https://")
    assert content.render_inline({"image": []}) == ""


def test_item_of_many_keys_shows_some_and_says_how_many_are_left() -> None:
    body = {"text": "x", "rest": {f"k{number}": {"a": 1, "b": 2} for number in range(60_000)}}
    blocks = content.build_blocks(body)

    def count_rows(block: content.ContentBlock) -> int:
        return len(block.rows) + sum(count_rows(inner) for _name, inner in block.rows)

    assert sum(map(count_rows, blocks)) <= content.MAX_KEYS + 3
    [(_name, rest)] = blocks[1].rows
    assert rest.rows[-1][0] == "…"
    assert rest.rows[-1][1].value == f"{60_000 - len(rest.rows) + 1} more not shown"
    few = {f"k{number}": number for number in range(content.MAX_KEYS)}
    assert len(content.build_blocks(few)[0].rows) == content.MAX_KEYS


def test_long_conversation_is_shown_up_to_a_number_of_turns() -> None:
    turns = [{"role": "user", "text": str(number)} for number in range(content.MAX_TURNS + 5)]
    [block] = content.build_blocks({"turns": turns})
    assert len(block.rows) == content.MAX_TURNS + 1
    assert block.rows[-1][1].value == "5 more not shown"
    assert len(content.build_blocks({"image": ["/a.png"] * 1_000})) == content.MAX_KEYS


def test_excerpt_looks_at_the_beginning_of_a_text() -> None:
    assert content.get_excerpt({"text": "word " * 1_000_000}).startswith("word word")
    assert content.get_excerpt({"html": "<div>" * 20_000 + "x"}).startswith("<div>")


def test_media_in_a_list_are_called_by_their_kind_or_file_name():
    digest = "0123456789abcdef" * 4
    cases = {
        f"/projects/5/media/{digest}.webm": "Video",
        "/files/talk%20one.webm?size=1": "Video: talk one.webm",
    }
    for address, name in cases.items():
        assert content.get_excerpt({"video": address}) == name
        assert content.get_excerpt({"video": [address, "/files/b.webm"]}) == name
        (block,) = content.build_blocks({"video": address})
        assert (block.value, block.name) == (address, name)
    assert content.get_excerpt({"audio": "/files/a.ogg", "question": "Clear?"}) == "Clear?"
    assert content.get_excerpt({"image": "data:image/png;base64,AA=="}) == "Image"


def test_turns_have_the_side_of_their_speaker():
    def list_sides(*speakers):
        body = {"turns": [{"role": speaker, "text": "x"} for speaker in speakers]}
        (turns,) = content.build_blocks(body)
        return [side for _speaker, _text, side in content.iter_turns_with_sides(turns.rows)]

    assert list_sides("system", "user", "Assistant", "user") == ["both", "start", "end", "start"]
    # Also where the other one begins; others take turns in their order.
    assert list_sides("assistant", "human") == ["end", "start"]
    assert list_sides("Ada", "Ben", "Ada", "Cleo") == ["start", "end", "start", "start"]
