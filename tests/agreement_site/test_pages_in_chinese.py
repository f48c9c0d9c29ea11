"""Tests that every page reachable by links is completely translated into Chinese."""

from __future__ import annotations

import datetime
import re
from collections.abc import Set
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone, translation

from agreement_site.models import Preference
from metrics import tasks
from metrics.jobs.question_updates import update_question
from projects.models import Item, Member, Project, Rater
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings
from tests.cast import PASSWORD
from tests.ratings.imports.wizard_client import WizardClient

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("words of pages that other tests ask on PostgreSQL"),
]

# Names, formats and symbols that Chinese texts use as well. The data below is Chinese or has
# digits.
ALLOWED_WORDS = set(
    """
    Concord Kappa Krippendorff Gwet Brennan Prediger McNemar Bowker Stuart Maxwell Landis Koch
    Enter Esc Ctrl Alt API REST CSV JSON Lines SVG PNG UTF NUL UTC Markdown Excel Parquet
    Windows ISO Latin GB Mac Roman Shift JIS EUC KR LE BE MB KB item rater label comment timestamp csv gz
    Cohen Fleiss Altman Wald Cicchetti ICC ZIP PDF HTML XML Parquet gzip xlsx CoNLL avif flac gif jpg ogg png
    webp wav webm pyarrow Scott PABAK Pearson Spearman Kendall Lin
    Conger Cronbach Light
    JavaScript PIN
    Label Studio Prodigy doccano Argilla Potato Zooniverse INCEpTION CVAT VGG Image Annotator COCO brat Scale AI
    Amazon Mechanical Turk Toloka Appen Figure Eight Labelbox SageMaker Ground Truth Langfuse LangSmith
    Qualtrics Google Forms REDCap LeWiDi Hugging Face Prolific Rayyan Augmented Vach Gerke ID Webhook
    Braintrust Inspect OpenAI Evals promptfoo results DeepEval Phoenix lm evaluation harness YAML WebAnno TSV
    Slack Microsoft Teams Standard Webhooks OpenAPI
    """.split()  # noqa: SIM905 - a list of this length is easier to read as words
)
WORD = re.compile(r"[A-Za-z][A-Za-z’']+[0-9]?")
# Options of commands, time zones, URLs, and keys with digits.
IGNORED_TEXT = re.compile(
    r"--[a-z-]+(?: [a-z_]+=)?|[\w.+-]+/[\w/+-]+|\bCST\b|https?://\S*|\b\w*\d\w*\b",
    re.ASCII,
)
TEXT_ATTRIBUTES = ("title", "aria-label", "placeholder", "alt", "label")
SCRIPT_TEXT_PREFIXES = ("data-text", "data-confirm", "data-done", "data-moved", "data-said")
SKIPPED_TAGS = {"script", "style", "kbd", "pre", "code", "template", "datalist"}
# The document on statistics cites English titles; see tests/docs/test_docs_in_chinese.py
DOCUMENTS = ("/glossary/statistics/",)
VOID_TAGS = {"meta", "link", "input", "br", "img", "hr", "path", "circle", "rect", "source", "col"}


class ParsedPage(HTMLParser):
    """Visible texts of a page, with those in attributes, and its links and charts."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.links: list[str] = []
        self.charts: list[str] = []
        self._open: list[tuple[str, bool]] = []
        self.feed(content)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        silent = tag in SKIPPED_TAGS or (
            tag != "html"
            and (
                attributes.get("lang", "zh-hans") != "zh-hans"
                or attributes.get("translate") == "no"
            )
        )
        self.texts += [
            value
            for name, value in attrs
            if value and (name in TEXT_ATTRIBUTES or name.startswith(SCRIPT_TEXT_PREFIXES))
        ]
        if tag == "a" and (link := attributes.get("href")):
            self.links.append(link)
        if (chart := attributes.get("data-chart")) is not None:
            self.charts.append(chart)
        if tag not in VOID_TAGS:
            self._open.append((tag, silent))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not any(silent for _tag, silent in self._open):
            self.texts.append(data)


def find_english_words(texts: list[str], also_allowed: Set[str] = frozenset()) -> set[str]:
    """Return the words of the texts that are neither translated nor allowed."""
    return (
        {word for text in texts for word in WORD.findall(IGNORED_TEXT.sub(" ", text))}
        - ALLOWED_WORDS
        - also_allowed
    )


def list_chart_titles(spec: Any) -> list[str]:
    """Return all titles in a chart's specification."""
    if isinstance(spec, dict):
        own_titles = [
            value for name, value in spec.items() if name == "title" and isinstance(value, str)
        ]
        return own_titles + [title for value in spec.values() for title in list_chart_titles(value)]
    return (
        [title for value in spec for title in list_chart_titles(value)]
        if isinstance(spec, list)
        else []
    )


def crawl(client: Client, start: str) -> dict[str, ParsedPage]:
    """Return the pages that links lead to from ``start``, one for each kind of address."""
    pages: dict[str, ParsedPage] = {}
    pending = [start]
    while pending:
        address = pending.pop()
        path, query = urlsplit(address)[2:4]
        kind = re.sub(r"(/items/t|/rate/)\d+", r"\g<1>0", path)  # one item represents all
        name = "?".join(
            [kind, *sorted(parse_qs(query).keys() & {"a", "period", "from", "search", "version"})]
        )
        if (
            name in pages
            or path.startswith(("/admin/", "/static/", "/api/", *DOCUMENTS))
            or "export" in path
            or path.endswith(".csv")
        ):
            continue
        response = client.get(address)
        # 404: items of a project without a question
        assert response.status_code in (200, 302, 404), address
        if response.streaming:  # a file
            pages[name] = ParsedPage("")
            continue
        if response.status_code == 302:
            pending.append(response["Location"])
            pages[name] = ParsedPage("")
            continue
        if response.streaming:
            continue  # a file
        text = response.content.decode()
        assert '<html lang="zh-hans" dir="ltr">' in text
        pages[name] = ParsedPage(text)
        pending += [
            urljoin(path, link) for link in pages[name].links if link.startswith(("/", "?"))
        ]
    return pages


@pytest.fixture(autouse=True)
def default_language():
    """Reset the language of the test process."""
    with translation.override(settings.LANGUAGE_CODE):
        yield


@pytest.fixture
def users(make_user):
    """Return a lead, an annotator and a viewer who read Chinese, by role."""
    new_users = {role: make_user(f"{role}1") for role in ("lead", "annotator", "viewer")}
    for user in new_users.values():
        Preference.objects.create(user=user, language="zh-hans")
    return new_users


@pytest.fixture
def full_project(users, make_project) -> Project:
    """Return a project with drift, gaps, skips, flags, models and groups, to show all texts."""
    project = make_project(
        "译文审校",
        labels=("无", "轻微", "严重"),
        key="q1",
        guidelines="# 标准\n\n每段译文选一个。",
        time_zone="Asia/Shanghai",
        created_by=users["lead"],
        description="十周的译文",
    )
    project.questions.update(text="错误有多严重？", weights="quadratic")
    for role, user in users.items():
        Member.objects.create(project=project, user=user, role=role)
    offer = {"username": "u9", "role": "viewer", "created_at": timezone.now(), "by": users["lead"]}
    project.member_offers.create(**offer)
    other_project = make_project("另一个")
    for user in users.values():
        other_project.member_offers.create(**offer | {"username": user.username, "user": user})
    raters = [
        Rater.objects.create(
            project=project, key=f"r{number}", kind="model" if number == 3 else "human"
        )
        for number in range(4)
    ]
    Rater.objects.filter(pk=raters[0].pk).update(user=users["annotator"])
    items = Item.objects.bulk_create(
        Item(
            project=project,
            key=f"t{n}",
            body={"原文": f"第{n}段"},
            attributes={"语言": "德语" if n % 2 else "法语"},
        )
        for n in range(44)
    )
    start = datetime.datetime(2026, 5, 4, 9, tzinfo=datetime.UTC)
    judgements = []
    for position, item in enumerate(items[:40]):
        is_second_period = position >= 20
        for number, rater in enumerate(raters[:3]):
            code = min(
                position % 3
                + (1 if is_second_period and number == 2 else 0)
                + (position % 7 == number),
                2,
            )
            judgements.append(
                Judgement(
                    item.pk,
                    rater.pk,
                    code,
                    rated_at=start
                    + datetime.timedelta(days=31 * is_second_period, minutes=position),
                    comment="注",
                )
            )
    record_ratings({project.questions.get(): judgements}, by=None, source="api")
    update_question(project.questions.get().pk)
    return project


def test_all_pages_of_a_lead_are_chinese(full_project, users, client_for):
    client = client_for(users["lead"])
    client.get(f"/projects/{full_project.pk}/change/")
    tasks.sweep_all()
    pages = crawl(client, "/")
    for name in "change pairs items items/t0 raters/r1 data data/import people settings settings/questions/q1 rate".split():  # noqa: SIM905
        assert f"/projects/{full_project.pk}/{name}/" in pages, name
    assert {
        path: words for path, page in pages.items() if (words := find_english_words(page.texts))
    } == {}
    charts = {address for page in pages.values() for address in page.charts}
    assert {urlsplit(address).path.rsplit("/", 1)[1] for address in charts} >= {
        "trend.json",
        "pairs.json",
        "change.json",
    }
    for address in charts:
        chart = client.get(address).json()
        assert find_english_words(list_chart_titles(chart["spec"])) == set(), address
        assert chart["locale"]["time"]["months"][4] == "五月"


def test_computed_sentences_are_chinese(full_project, users, client_for):
    client = client_for(users["lead"])
    client.get(f"/projects/{full_project.pk}/change/")
    tasks.sweep_all()
    change = client.get(f"/projects/{full_project.pk}/change/").content.decode()
    assert "2026-05-04 当周" in change
    assert "由 " in change
    assert "Fleiss Kappa" in client.get(f"/projects/{full_project.pk}/").content.decode()


def test_all_pages_of_an_annotator_are_chinese(full_project, users, client_for):
    client = client_for(users["annotator"])
    address = f"/projects/{full_project.pk}/rate/"
    annotation_page = client.get(address)
    match = re.search(r'data-item="(\d+)"', annotation_page.content.decode())
    assert match
    item = match[1]
    client.post(f"{address}{item}/", {})  # rejected: no answer
    client.post(f"{address}{item}/skip/", {"reason": ""})
    client.post(f"{address}{item}/skip/", {"reason": "看不懂"})
    error_page = client.post(f"{address}{item}/", {}).content.decode()
    pages = crawl(client, address) | {"refused": ParsedPage(error_page)}
    assert f"/projects/{full_project.pk}/my-ratings/" in pages
    assert {
        path: words for path, page in pages.items() if (words := find_english_words(page.texts))
    } == {}
    skipped_page = (
        client_for(users["lead"]).get(f"/projects/{full_project.pk}/skipped/").content.decode()
    )
    assert "看不懂" in skipped_page
    assert find_english_words(ParsedPage(skipped_page).texts) == set()


def test_sign_in_pages_are_chinese(client, make_user):
    chinese_headers = {"HTTP_ACCEPT_LANGUAGE": "zh-CN"}
    make_user("u1")
    pages = [
        client.get("/sign-in/", **chinese_headers),
        client.get("/nothing/", **chinese_headers),
        client.get("/invitations/x/y/", **chinese_headers),
    ]
    for password in (PASSWORD + "!", *("no",) * 11):
        pages.append(
            client.post("/sign-in/", {"username": "u1", "password": password}, **chinese_headers)
        )
    assert pages[-1].status_code == 429
    for response in pages:
        assert find_english_words(ParsedPage(response.content.decode()).texts) == set(), (
            response.wsgi_request.path
        )


INVALID_FORMS = [
    (
        "/projects/new/",
        {
            "name": "",
            "overlap": 0,
            "time_zone": "x1",
            "c-TOTAL_FORMS": "2",
            "c-INITIAL_FORMS": "0",
            "c-0-label": "是",
            "c-1-label": "是",
        },
    ),
    ("{p}settings/", {"name": "", "overlap": "y", "time_zone": "x1"}),
    ("{p}settings/questions/q1/", {"text": "", "c-TOTAL_FORMS": "0", "c-INITIAL_FORMS": "0"}),
    ("{p}people/add/", {"username": "1 2", "role": "king1", "account": "new"}),
    ("{p}data/import/", {}),
    ("/password/", {"old_password": "x1", "new_password1": "1", "new_password2": "2"}),
    ("/tokens/", {"scope": "x1", "days": "x1"}),
]


@pytest.mark.parametrize(("address", "form_data"), INVALID_FORMS)
def test_form_errors_are_chinese(address, form_data, full_project, users, client_for):
    response = client_for(users["lead"]).post(
        address.format(p=f"/projects/{full_project.pk}/"), form_data
    )
    assert response.status_code == 400
    assert find_english_words(ParsedPage(response.content.decode()).texts) == set()


def test_import_wizard_is_chinese(full_project, users, client_for):
    wizard = WizardClient(client_for(users["lead"]), full_project)

    def find_words_on_page() -> set[str]:
        return find_english_words(ParsedPage(wizard.get_page().content.decode()).texts)

    valid_file = "item,rater,label,comment\nt1,r3,无,好\nt1,r3,轻微,好\nt2,r3,严重,好\n".encode()
    times = (
        "8点",
        "2026-03-01T10:00:00",
        "2999-01-01T00:00:00Z",
        "1960-01-01T00:00:00Z",
        "0001-01-01T00:00:00+14:00",
    )
    rows = [f"t{4 + position},r3,无,{time}" for position, time in enumerate(times)]
    invalid_file = "\n".join(
        ["item,rater,label,timestamp", "t1,,无,", "t2,r3,未知,", "t3,r3", ",,,", *rows]
    ).encode()
    wizard.upload(invalid_file, "评分1.csv")
    assert find_words_on_page() == set()
    wizard.choose_columns(create_missing="")
    assert find_words_on_page() == set()
    assert wizard.run_worker().state == "invalid"
    assert find_words_on_page() == set()
    wizard.upload(valid_file, "评分1.csv")
    assert find_words_on_page() == set()
    wizard.choose_columns()
    assert wizard.run_worker().state == "checked"
    assert find_words_on_page() == set()
    wizard.start_import()
    assert find_words_on_page() == set()
    assert wizard.run_worker().state == "done"
    assert find_words_on_page() == set()
    for content in (
        b"",
        b"PK\x03\x04",
        b"%PDF-1.4",
        b"one\n1\n",
        b"a,b\n\xff,1\n",
        b'item,rater,label\n"x,1,2\n',
    ):
        response = wizard.upload(content, "评分1.csv")
        page = wizard.get_page() if response.status_code == 302 else response
        assert find_english_words(ParsedPage(page.content.decode()).texts) == set(), content


def test_empty_project_and_empty_site_are_chinese(users, make_project, client_for):
    client = client_for(users["lead"])
    assert (
        find_english_words([text for page in crawl(client, "/").values() for text in page.texts])
        == set()
    )
    project = make_project("空1", key="q1", labels=("是", "否"), created_by=users["lead"])
    project.questions.update(text="对吗？")
    Member.objects.create(project=project, user=users["lead"], role="lead")
    pages = crawl(client, f"/projects/{project.pk}/")
    assert {
        path: words for path, page in pages.items() if (words := find_english_words(page.texts))
    } == {}
    project.questions.all().delete()
    pages = crawl(client, f"/projects/{project.pk}/")
    assert {
        path: words for path, page in pages.items() if (words := find_english_words(page.texts))
    } == {}
