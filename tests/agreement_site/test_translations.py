"""The catalogues: whole, reviewed, compiled, and true to their sources. In pure Python, so it runs
everywhere."""

from __future__ import annotations

import re
from collections import Counter

import polib
import pytest
from django.conf import settings
from django.utils import dates, translation
from django.utils.translation import to_locale
from django.utils.translation.trans_real import DjangoTranslation

from tests.tools import translation_catalogue

LANGUAGES = translation_catalogue.languages()
TAGS = re.compile(r"</?\w+>")
# Half-width signs beside Chinese characters, and other people's words for what the glossary names.
HALF_WIDTH = re.compile(
    r"[\u4e00-\u9fff][,;:?!()]|[,;:?!()][\u4e00-\u9fff]|[\u4e00-\u9fff]\.(?:\s|$)"
)
OTHER_WORDS = (
    "标注员",
    "评分者",
    "评估者",
    "评定者",
    "项目条目",
    "患病率",
    "可信区间",
    "加权kappa",
    "弗莱斯kappa",
)
DELIMITERS = ("comma ,", "semicolon ;")  # name the sign itself


@pytest.fixture(scope="module", params=LANGUAGES)
def po(request) -> polib.POFile:
    return translation_catalogue.read(request.param)


def translations(entry: polib.POEntry) -> list[str]:
    return list(entry.msgstr_plural.values()) if entry.msgid_plural else [entry.msgstr]


def test_every_language_but_the_sources_has_a_catalogue():
    assert [
        to_locale(code) for code, _name in settings.LANGUAGES if code != settings.LANGUAGE_CODE
    ] == LANGUAGES


def test_every_text_is_in_the_catalogue_and_nothing_else(po):
    found = translation_catalogue.texts()
    known = {(entry.msgctxt, entry.msgid): entry.msgid_plural for entry in po}
    assert known == {key: text.plural or "" for key, text in found.items()}, "run: make messages"


def test_every_text_is_translated_and_none_is_doubtful(po):
    assert [entry.msgid for entry in po if entry.fuzzy or entry.obsolete] == []
    assert [
        entry.msgid for entry in po if not all(text.strip() for text in translations(entry))
    ] == []


def test_what_is_filled_in_and_marked_up_is_the_same(po):
    wrong = []
    for entry in po:
        source = entry.msgid_plural or entry.msgid
        for text in translations(entry):
            for pattern in (translation_catalogue.FILLED, TAGS):
                if Counter(pattern.findall(text)) != Counter(pattern.findall(source)):
                    wrong.append((source, text))
            if text.count("%%") != source.count("%%"):
                wrong.append((source, text))
    assert wrong == []


def test_blanks_and_line_ends_stay_where_they_are(po):
    for entry in po:
        for text in translations(entry):
            assert text == text.strip()
            assert "  " not in text
            assert "\n" not in text


def test_the_compiled_catalogue_is_made_from_this_one(po):
    compiled = translation_catalogue.source_of(po.metadata["Language"]).with_suffix(".mo")
    assert compiled.read_bytes() == po.to_binary(), "run: make messages"


def test_plural_forms_are_djangos(po):
    django = DjangoTranslation(po.metadata["Language"].replace("_", "-").lower())
    forms = translation_catalogue.number_of_plurals(po)
    assert len({django.plural(n) for n in range(200)}) == forms
    for entry in po:
        if entry.msgid_plural:
            assert sorted(entry.msgstr_plural) == list(range(forms))


def test_chinese_has_its_own_signs_and_one_word_for_one_thing():
    for entry in translation_catalogue.read("zh_Hans"):
        for text in translations(entry):
            plain = translation_catalogue.FILLED.sub("数", text)
            if entry.msgid not in DELIMITERS:
                assert not HALF_WIDTH.search(plain), text
            assert not [word for word in OTHER_WORDS if word in text], text
            if "Kappa" in text and re.search("[Kk]appa", entry.msgid):
                assert not re.search(r"[\u4e00-\u9fff]Kappa|Kappa[\u4e00-\u9fff]", text), text


@pytest.mark.parametrize(
    ("source", "translated"),
    [
        ("Fleiss’ kappa", "弗莱斯 Kappa"),
        ("Cohen’s kappa", "科恩 Kappa"),
        ("Missing ratings", "缺失评分"),
        ("Percent agreement", "一致率"),
        ("Rater", "标注者"),
        ("Item", "条目"),
        ("Weight matrix", "权重矩阵"),
    ],
)
def test_the_words_of_the_field(source, translated):
    with translation.override("zh-hans"):
        assert translation.gettext(source) == translated


def test_no_text_of_ours_renames_a_month_or_a_day():
    named = {
        *dates.MONTHS.values(),
        *dates.WEEKDAYS.values(),
        *dates.MONTHS_3.values(),
        *dates.WEEKDAYS_ABBR.values(),
    }
    with translation.override(settings.LANGUAGE_CODE):
        named = {str(name) for name in named}
    assert not named & {text for context, text in translation_catalogue.texts() if context is None}
