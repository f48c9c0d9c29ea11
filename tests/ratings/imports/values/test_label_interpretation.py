"""Spellings of a file that are one label, and texts that stand for a missing value."""

from __future__ import annotations

import unicodedata
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings.imports.values.label_interpretation import (
    LabelInterpretation,
    LabelOptions,
    format_label_list,
    interpret_labels,
    parse_label_list,
)
from ratings.imports.values.label_order import guess_order
from ratings.label_normalization import get_normal_form, normalize_text


def read(*texts: str, existing: tuple[str, ...] = (), **options: object) -> LabelInterpretation:
    counts = dict.fromkeys(texts, 1)
    return interpret_labels(counts, LabelOptions(**options), existing=existing)  # type: ignore[arg-type]


def list_kinds(reading: LabelInterpretation) -> list[str]:
    return [note.kind for note in reading.notes]


@pytest.mark.parametrize(
    ("texts", "label"),
    [
        (["1", "1.0", "+1", "01", "1e0"], "1"),
        (["1e3", "1000", "1000.00"], "1000"),
        (["True", "TRUE", "true"], "true"),
        (["cafe\u0301", "caf\u00e9"], "caf\u00e9"),
        (["0", "-0", "0.0"], "0"),
        (["-1", "\u22121.0"], "-1"),
        (['["a"]', "a"], "a"),
        (["love|joy", "joy|love", '["joy", "love"]', "love", "joy"], None),
    ],
)
def test_spellings_of_one_label_are_joined(texts: list[str], label: str | None) -> None:
    labels = set(read(*texts).labels.values())
    assert labels == ({label} if label else {"joy|love", "joy", "love"})


@pytest.mark.parametrize("text", ["01", "+1", "1e3", "TRUE", "2.50x", "1,000", "No, never"])
def test_a_spelling_of_its_own_is_kept(text: str) -> None:
    assert read(text, "other").labels[text] == text


def test_decimal_commas_are_read_where_all_labels_are_numbers() -> None:
    reading = read("2,5", "10,0", "3")
    assert list(reading.labels.values()) == ["2.5", "10", "3"]
    assert list_kinds(reading) == ["decimal_commas"]
    assert read("1,2", "2,1", "1,2,3", "3").labels["2,1"] == "1|2"  # lists of options
    assert read("2,5", "word").labels["2,5"] == "2,5"


@pytest.mark.parametrize("date", ["2026-02-01T00:00:00", "01.Feb", "3. Apr", "2-Mai", "Jan-02"])
def test_labels_that_became_dates_are_noted(date: str) -> None:
    assert list_kinds(read(date, "3-4", "5+")) == ["dates"]
    assert guess_order(["03.Apr", "5+", date]).basis == "alphabet"
    assert list_kinds(read("1 marginal", "2 decent", "3")) == []


def test_similar_labels_get_the_name_of_the_most_frequent() -> None:
    counts = {"ja": 3, "Ja": 1, "j": 1, "nein": 2, "n": 1}
    labels = interpret_labels(counts, LabelOptions(similar="join")).labels
    assert labels == {"ja": "ja", "Ja": "ja", "j": "ja", "nein": "nein", "n": "nein"}


def test_separators_of_thousands_are_removed() -> None:
    reading = read("1,000", "900", "2,500", "1000", "1,234,567.5")
    assert list(reading.labels.values()) == ["1000", "900", "2500", "1000", "1234567.5"]
    assert list_kinds(reading) == ["thousands"]
    assert read("1,000", "2", "3").labels["1,000"] == "1,000"  # may be a decimal
    assert read("1,000", "900", existing=("1,000", "900")).labels["1,000"] == "1,000"


@pytest.mark.parametrize(
    ("texts", "codes"),
    [
        (["1 = no", "2 = partly", "3 = yes", "99 = keine Angabe"], ["99 = keine Angabe"]),
        (["1: low", "2: medium", "3: high", "(9) don't know"], ["(9) don't know"]),
        (
            ["trifft nicht zu", "trifft eher nicht zu", "trifft eher zu", "-99", "weiß nicht"],
            ["-99", "weiß nicht"],
        ),
        (["nie", "selten", "oft", "k.A.", "-99", "weiß nicht"], ["-99", "k.A.", "weiß nicht"]),
    ],
)
def test_doubtful_codes_are_asked_about_at_once(texts: list[str], codes: list[str]) -> None:
    (note,) = read(*texts).undecided
    assert (note.kind, note.values["codes"]) == ("maybe_missing", codes)


@pytest.mark.parametrize(
    "code",
    [
        "NaN",
        "nan",
        "null",
        "NA",
        "N/A",
        "n/a",
        "n.a.",
        "-",
        "?",
        "#N/A",
        "<NA>",
        "—",
        ".",
        "NULL",
        " ",
    ],
)
def test_usual_codes_are_missing_and_noted(code: str) -> None:
    reading = read("yes", "no", code)
    assert reading.labels == {"yes": "yes", "no": "no", code: None}
    assert list_kinds(reading) == (["missing"] if code.strip() else [])
    assert (
        read("yes", "no", code, not_missing=[code]).labels.get(code, "") is not None
        or not code.strip()
    )


def test_the_same_text_is_a_label_beside_its_kin() -> None:
    assert read("-", "+", "0").labels["-"] == "-"
    assert read("None", "Mild", "Severe").labels["None"] == "None"
    assert read("none", "favor", "against").labels["none"] == "none"
    assert read("1", "2", "None").labels["None"] is None
    assert read("yes", "no", "None").labels["None"] is None
    assert read("NA", "EU", existing=("NA", "EU")).labels["NA"] == "NA"


@pytest.mark.parametrize("code", ["-99", "-999", "99", "999", "-9", "-99.0"])
def test_numbers_far_outside_are_asked_about(code: str) -> None:
    reading = read("1", "2", "5", code)
    assert [note.kind for note in reading.undecided] == ["maybe_missing"]
    decided = read("1", "2", "5", code, missing=[code.removesuffix(".0")])
    assert decided.labels[code] is None and not decided.undecided
    interpretation = read("1", "2", "5", code, not_missing=[code])
    assert interpretation.labels[code] == code.removesuffix(".0") and not interpretation.undecided


def test_numbers_within_the_scale_are_labels() -> None:
    for texts in (
        ["0", "50", "98", "99"],
        ["-1", "0", "1"],
        ["-9", "-8", "0", "9"],
        ["1", "3", "9"],
        ["1", "2", "3", "4", "5", "6", "9"],
    ):
        assert not read(*texts).notes


def test_nine_beside_a_short_scale_is_asked_about() -> None:
    for texts in (["1", "2", "9"], ["0", "1", "2", "9"], ["1", "2", "3", "4", "5", "8", "9"]):
        assert ([note.kind for note in read(*texts).undecided] == ["maybe_missing"]) == (
            "8" not in texts
        )


def test_further_codes_are_missing_and_known_ones_are_kept() -> None:
    reading = read("yes", "no", "skip", "?", missing=["Skip"], not_missing=["?"])
    assert reading.labels == {"yes": "yes", "no": "no", "skip": None, "?": "?"}


def test_case_is_joined_only_when_chosen() -> None:
    texts = ("Positive", "positive", "POSITIVE", "negative", "very  good", "Very good")
    undecided = read(*texts)
    assert set(undecided.labels.values()) == set(texts)
    assert [note.kind for note in undecided.undecided] == ["similar"]
    joined = read(*texts, similar="join")
    assert set(joined.labels.values()) == {"Positive", "negative", "Very good"}
    assert list_kinds(joined) == ["joined"]
    interpretation = read(*texts, similar="keep")
    assert set(interpretation.labels.values()) == set(texts) and not interpretation.notes


def test_labels_of_an_existing_question_win() -> None:
    reading = read("1.0", "2", "Positive", existing=("1", "2", "positive"), similar="join")
    assert reading.labels == {"1.0": "1", "2": "2", "Positive": "positive"}
    assert read("1", existing=("1.0",)).labels == {"1": "1.0"}


def test_several_labels_need_parts_that_recur() -> None:
    assert read("No, never", "Yes, often", "Sometimes").labels["No, never"] == "No, never"
    reading = read("A, B", "B, A", "A", "B")
    assert reading.labels["B, A"] == "A|B"
    assert list_kinds(reading) == ["several_labels"]
    assert read("[]", "a").labels["[]"] is None


NUMBERS = st.fractions(-1000, 1000, max_denominator=100)


@given(st.decimals(-1000, 1000, places=3), st.integers(0, 4), st.booleans())
def test_equal_numbers_have_one_normal_form(number, zeros, has_plus) -> None:
    text = f"{number:f}"
    other = f"{'+' if has_plus and number > 0 else ''}{text}{'0' * zeros}"
    assert get_normal_form(other) == get_normal_form(text)
    assert Fraction(get_normal_form(text)) == Fraction(text)


def test_the_same_parts_in_another_order_are_several_labels() -> None:
    reading = read("Anger, Fear", "Fear, Anger", "Joy, Fear", "Fear")
    assert reading.labels["Anger, Fear"] == reading.labels["Fear, Anger"] == "Anger|Fear"
    assert "several_labels" in list_kinds(reading)
    assert "several_labels" not in list_kinds(read("No, never", "Yes, often", "Sometimes"))
    assert read("pos/neg", "neg/pos", "pos").labels["pos/neg"] == "neg|pos"
    assert read("A+B", "B+A", "A").labels["B+A"] == "A|B"
    assert not read("yes/no", "yes", "no").notes


@given(st.lists(st.text(max_size=8), max_size=12, unique=True))
def test_every_text_is_read_and_the_order_of_the_file_does_not_matter(texts: list[str]) -> None:
    for similar in ("", "join", "keep"):
        reading = read(*texts, similar=similar)
        assert set(reading.labels) == set(texts)
        assert read(*reversed(texts), similar=similar).labels == reading.labels
        for text, label in reading.labels.items():
            assert label is None or label == unicodedata.normalize("NFC", label)
            # A text of the file disappears only with a note, or if it is blank.
            if label is None and normalize_text(text):
                assert "missing" in list_kinds(reading) or text.strip() in ("[]", "()", "{}")


@given(st.lists(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1), max_size=6))
def test_lists_of_labels_are_read_back(labels: list[str]) -> None:
    assert parse_label_list(format_label_list(labels)) == labels


def test_a_list_with_an_open_quote_is_refused() -> None:
    assert parse_label_list('"No, never",Sometimes, "Yes, often"') == [
        "No, never",
        "Sometimes",
        "Yes, often",
    ]
    with pytest.raises(ValueError, match="not closed"):
        parse_label_list('"No, never')
