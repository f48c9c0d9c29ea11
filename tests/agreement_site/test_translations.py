"""Tests of the catalogues: complete, reviewed, compiled and up to date.

They use pure Python, so they run everywhere.
"""

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

LANGUAGES = translation_catalogue.list_languages()
TAGS = re.compile(r"</?\w+>")
# Half-width punctuation beside Chinese characters, and synonyms of glossary terms.
HALF_WIDTH_PUNCTUATION = re.compile(
    r"[\u4e00-\u9fff][,;:?!()]|[,;:?!()][\u4e00-\u9fff]|[\u4e00-\u9fff]\.(?:\s|$)"
)
FORBIDDEN_SYNONYMS = (
    "标注员",
    "评分者",
    "评估者",
    "评定者",
    "项目条目",
    "患病率",
    "可信区间",
    "加权kappa",
    "弗莱斯",
    "科恩",
    "克里彭多夫",
)
DELIMITERS = ("comma ,", "semicolon ;")  # texts that show the character itself


@pytest.fixture(scope="module", params=LANGUAGES)
def po(request) -> polib.POFile:
    """Return the catalogue of each language."""
    return translation_catalogue.read_catalogue(request.param)


def list_translations(entry: polib.POEntry) -> list[str]:
    """Return the translations of all plural forms."""
    return list(entry.msgstr_plural.values()) if entry.msgid_plural else [entry.msgstr]


def test_every_language_except_english_has_a_catalogue():
    assert [
        to_locale(code) for code, _name in settings.LANGUAGES if code != settings.LANGUAGE_CODE
    ] == LANGUAGES


def test_catalogue_contains_exactly_the_texts(po):
    texts = translation_catalogue.collect_texts()
    entries = {(entry.msgctxt, entry.msgid): entry.msgid_plural for entry in po}
    assert entries == {key: text.plural or "" for key, text in texts.items()}, "run: make messages"


def test_every_text_is_translated_and_none_is_fuzzy(po):
    assert [entry.msgid for entry in po if entry.fuzzy or entry.obsolete] == []
    assert [
        entry.msgid for entry in po if not all(text.strip() for text in list_translations(entry))
    ] == []


def test_placeholders_and_tags_are_the_same(po):
    mismatches = []
    for entry in po:
        source = entry.msgid_plural or entry.msgid
        for text in list_translations(entry):
            for pattern in (translation_catalogue.PLACEHOLDER, TAGS):
                if Counter(pattern.findall(text)) != Counter(pattern.findall(source)):
                    mismatches.append((source, text))
            if text.count("%%") != source.count("%%"):
                mismatches.append((source, text))
    assert mismatches == []


def test_translations_have_no_surplus_whitespace(po):
    for entry in po:
        for text in list_translations(entry):
            assert text == text.strip()
            assert "  " not in text
            assert "\n" not in text


def test_compiled_catalogue_is_up_to_date(po):
    compiled = translation_catalogue.get_catalogue_path(po.metadata["Language"]).with_suffix(".mo")
    assert compiled.read_bytes() == po.to_binary(), "run: make messages"


def test_plural_forms_are_djangos(po):
    django = DjangoTranslation(po.metadata["Language"].replace("_", "-").lower())
    forms = translation_catalogue.count_plural_forms(po)
    assert len({django.plural(n) for n in range(200)}) == forms
    for entry in po:
        if entry.msgid_plural:
            assert sorted(entry.msgstr_plural) == list(range(forms))


def test_chinese_uses_its_punctuation_and_glossary_terms():
    for entry in translation_catalogue.read_catalogue("zh_Hans"):
        for text in list_translations(entry):
            plain = translation_catalogue.PLACEHOLDER.sub("数", text)
            if entry.msgid not in DELIMITERS:
                assert not HALF_WIDTH_PUNCTUATION.search(plain), text
            assert not [word for word in FORBIDDEN_SYNONYMS if word in text], text
            if "Kappa" in text and re.search("[Kk]appa", entry.msgid):
                assert not re.search(r"[\u4e00-\u9fff]Kappa|Kappa[\u4e00-\u9fff]", text), text


@pytest.mark.parametrize(
    ("source", "translated"),
    [
        ("Fleiss’ kappa", "Fleiss Kappa"),
        ("Cohen’s kappa", "Cohen Kappa"),
        ("Missing ratings", "缺失评分"),
        ("Percent agreement", "一致率"),
        ("Rater", "标注者"),
        ("Item", "条目"),
        ("Weight matrix", "权重矩阵"),
    ],
)
def test_terms_have_the_translation_of_the_glossary(source, translated):
    with translation.override("zh-hans"):
        assert translation.gettext(source) == translated


def test_catalogue_overrides_no_month_or_weekday():
    date_names = {
        *dates.MONTHS.values(),
        *dates.WEEKDAYS.values(),
        *dates.MONTHS_3.values(),
        *dates.WEEKDAYS_ABBR.values(),
    }
    with translation.override(settings.LANGUAGE_CODE):
        date_names = {str(name) for name in date_names}
    assert not date_names & {
        text for context, text in translation_catalogue.collect_texts() if context is None
    }
