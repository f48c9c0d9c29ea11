"""Every page that links lead to, in Chinese: no English word of the interface is left on it."""

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
from tests.ratings.imports.wizard_client import Wizard

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("words of pages that other tests ask on PostgreSQL"),
]

# Names, formats and signs that are written so in Chinese texts, too. The data below are Chinese or
# have digits.
LATIN = set(
    """
    Concord Kappa Krippendorff Gwet Brennan Prediger McNemar Bowker Stuart Maxwell Landis Koch
    Enter Esc Ctrl Alt API REST CSV JSON Lines SVG PNG UTF NUL UTC Markdown Excel Parquet
    Windows ISO Latin GB Mac Roman Shift JIS EUC KR LE BE MB KB item rater label comment timestamp csv gz
    Fleiss Altman Wald Cicchetti ICC ZIP PDF HTML XML Parquet gzip xlsx CoNLL avif flac gif jpg ogg png
    webp wav webm pyarrow Scott PABAK Pearson Spearman Kendall Lin
    Conger Cronbach Light
    JavaScript PIN
    Label Studio Prodigy doccano Argilla Potato Zooniverse INCEpTION CVAT
    """.split()  # noqa: SIM905 - a list of this length is easier to read as words
)
WORD = re.compile(r"[A-Za-z][A-Za-z’']+[0-9]?")
# Time zones, addresses, and keys with digits.
NO_WORDS = re.compile(r"[\w.+-]+/[\w/+-]+|\bCST\b|https?://\S+|\b\w*\d\w*\b", re.ASCII)
SAID = ("title", "aria-label", "placeholder", "alt", "label")
SAID_TO_SCRIPTS = ("data-text", "data-confirm", "data-done", "data-moved", "data-said")
SILENT = {"script", "style", "kbd", "pre", "code", "template", "datalist"}
# The document on statistics cites English titles; tests/test_docs_in_chinese.py asks after its words.
DOCUMENTS = ("/words/statistics/",)
VOID = {"meta", "link", "input", "br", "img", "hr", "path", "circle", "rect", "source", "col"}


class Page(HTMLParser):
    """What a page says, in text and in attributes, and where its links and charts lead."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.said: list[str] = []
        self.links: list[str] = []
        self.charts: list[str] = []
        self._open: list[tuple[str, bool]] = []
        self.feed(content)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        silent = tag in SILENT or (tag != "html" and given.get("lang", "zh-hans") != "zh-hans")
        self.said += [
            value
            for name, value in attrs
            if value and (name in SAID or name.startswith(SAID_TO_SCRIPTS))
        ]
        if tag == "a" and (link := given.get("href")):
            self.links.append(link)
        if (chart := given.get("data-chart")) is not None:
            self.charts.append(chart)
        if tag not in VOID:
            self._open.append((tag, silent))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not any(silent for _tag, silent in self._open):
            self.said.append(data)


def english(texts: list[str], known: Set[str] = frozenset()) -> set[str]:
    return (
        {word for text in texts for word in WORD.findall(NO_WORDS.sub(" ", text))} - LATIN - known
    )


def titles(part: Any) -> list[str]:
    """Everything that a chart's specification writes."""
    if isinstance(part, dict):
        own = [value for name, value in part.items() if name == "title" and isinstance(value, str)]
        return own + [title for value in part.values() for title in titles(value)]
    return [title for value in part for title in titles(value)] if isinstance(part, list) else []


def walk(client: Client, start: str) -> dict[str, Page]:
    """The pages that links lead to from ``start``, each kind of address once."""
    found: dict[str, Page] = {}
    ahead = [start]
    while ahead:
        address = ahead.pop()
        path, query = urlsplit(address)[2:4]
        kind = re.sub(r"(/items/t|/rate/)\d+", r"\g<1>0", path)  # one item stands for all
        name = "?".join(
            [kind, *sorted(parse_qs(query).keys() & {"a", "period", "from", "search", "version"})]
        )
        if (
            name in found
            or path.startswith(("/admin/", "/static/", "/api/", *DOCUMENTS))
            or "export" in path
            or path.endswith(".csv")
        ):
            continue
        response = client.get(address)
        # 404: items of a project without a question
        assert response.status_code in (200, 302, 404), address
        if response.streaming:  # a file
            found[name] = Page("")
            continue
        if response.status_code == 302:
            ahead.append(response["Location"])
            found[name] = Page("")
            continue
        if response.streaming:
            continue  # a file
        text = response.content.decode()
        assert '<html lang="zh-hans" dir="ltr">' in text
        found[name] = Page(text)
        ahead += [urljoin(path, link) for link in found[name].links if link.startswith(("/", "?"))]
    return found


@pytest.fixture(autouse=True)
def language_of_the_test_process():
    with translation.override(settings.LANGUAGE_CODE):
        yield


@pytest.fixture
def people(make_user):
    made = {role: make_user(f"{role}1") for role in ("lead", "annotator", "viewer")}
    for user in made.values():
        Preference.objects.create(user=user, language="zh-hans")
    return made


@pytest.fixture
def full(people, make_project) -> Project:
    """A project with everything that a page may say something about: drift, gaps, skips, flags,
    models, groups."""
    project = make_project(
        "译文审校",
        labels=("无", "轻微", "严重"),
        key="q1",
        guidelines="# 标准\n\n每段译文选一个。",
        time_zone="Asia/Shanghai",
        created_by=people["lead"],
        description="十周的译文",
    )
    project.questions.update(text="错误有多严重？", weights="quadratic")
    for role, user in people.items():
        Member.objects.create(project=project, user=user, role=role)
    offer = {"username": "u9", "role": "viewer", "made_at": timezone.now(), "by": people["lead"]}
    project.member_offers.create(**offer)
    other = make_project("另一个")
    for user in people.values():
        other.member_offers.create(**offer | {"username": user.username, "user": user})
    raters = [
        Rater.objects.create(
            project=project, key=f"r{number}", kind="model" if number == 3 else "human"
        )
        for number in range(4)
    ]
    Rater.objects.filter(pk=raters[0].pk).update(user=people["annotator"])
    items = Item.objects.bulk_create(
        Item(
            project=project,
            key=f"t{n}",
            body={"原文": f"第{n}段"},
            attributes={"语言": "德语" if n % 2 else "法语"},
        )
        for n in range(44)
    )
    first = datetime.datetime(2026, 5, 4, 9, tzinfo=datetime.UTC)
    new = []
    for place, item in enumerate(items[:40]):
        late = place >= 20
        for number, rater in enumerate(raters[:3]):
            code = min(place % 3 + (1 if late and number == 2 else 0) + (place % 7 == number), 2)
            new.append(
                Judgement(
                    item.pk,
                    rater.pk,
                    code,
                    rated_at=first + datetime.timedelta(days=31 * late, minutes=place),
                    comment="注",
                )
            )
    record_ratings({project.questions.get(): new}, by=None, source="api")
    update_question(project.questions.get().pk)
    return project


def test_every_page_of_a_lead(full, people, client_for):
    client = client_for(people["lead"])
    client.get(f"/projects/{full.pk}/change/")
    tasks.sweep_all()
    pages = walk(client, "/")
    for name in "change pairs items items/t0 raters/r1 data data/import people setup setup/questions/q1 rate".split():  # noqa: SIM905
        assert f"/projects/{full.pk}/{name}/" in pages, name
    assert {path: words for path, page in pages.items() if (words := english(page.said))} == {}
    charts = {address for page in pages.values() for address in page.charts}
    assert {urlsplit(address).path.rsplit("/", 1)[1] for address in charts} >= {
        "trend.json",
        "pairs.json",
        "change.json",
    }
    for address in charts:
        drawn = client.get(address).json()
        assert english(titles(drawn["spec"])) == set(), address
        assert drawn["locale"]["time"]["months"][4] == "五月"


def test_what_was_said_in_words_is_chinese(full, people, client_for):
    client = client_for(people["lead"])
    client.get(f"/projects/{full.pk}/change/")
    tasks.sweep_all()
    change = client.get(f"/projects/{full.pk}/change/").content.decode()
    assert "2026-05-04 当周" in change
    assert "由 " in change
    assert "弗莱斯 Kappa" in client.get(f"/projects/{full.pk}/").content.decode()


def test_every_page_of_an_annotator(full, people, client_for):
    client = client_for(people["annotator"])
    address = f"/projects/{full.pk}/rate/"
    sheet = client.get(address)
    shown = re.search(r'data-item="(\d+)"', sheet.content.decode())
    assert shown
    item = shown[1]
    client.post(f"{address}{item}/", {})  # refused: no answer
    client.post(f"{address}{item}/skip/", {"reason": ""})
    client.post(f"{address}{item}/skip/", {"reason": "看不懂"})
    refused = client.post(f"{address}{item}/", {}).content.decode()
    pages = walk(client, address) | {"refused": Page(refused)}
    assert f"/projects/{full.pk}/my-ratings/" in pages
    assert {path: words for path, page in pages.items() if (words := english(page.said))} == {}
    set_aside = client_for(people["lead"]).get(f"/projects/{full.pk}/set-aside/").content.decode()
    assert "看不懂" in set_aside
    assert english(Page(set_aside).said) == set()


def test_the_door(client, make_user):
    chinese = {"HTTP_ACCEPT_LANGUAGE": "zh-CN"}
    make_user("u1")
    pages = [
        client.get("/sign-in/", **chinese),
        client.get("/nothing/", **chinese),
        client.get("/invitations/x/y/", **chinese),
    ]
    for password in (PASSWORD + "!", *("no",) * 11):
        pages.append(client.post("/sign-in/", {"username": "u1", "password": password}, **chinese))
    assert pages[-1].status_code == 429
    for response in pages:
        assert english(Page(response.content.decode()).said) == set(), response.wsgi_request.path


REFUSED = [
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
    ("{p}setup/", {"name": "", "overlap": "y", "time_zone": "x1"}),
    ("{p}setup/questions/q1/text/", {"text": ""}),
    ("{p}people/add/", {"username": "1 2", "role": "king1", "account": "new"}),
    ("{p}data/import/", {}),
    ("/password/", {"old_password": "x1", "new_password1": "1", "new_password2": "2"}),
    ("/tokens/", {"scope": "x1", "days": "x1"}),
]


@pytest.mark.parametrize(("address", "sent"), REFUSED)
def test_what_is_refused_is_refused_in_chinese(address, sent, full, people, client_for):
    response = client_for(people["lead"]).post(address.format(p=f"/projects/{full.pk}/"), sent)
    assert response.status_code == 400
    assert english(Page(response.content.decode()).said) == set()


def test_the_import_wizard(full, people, client_for):
    wizard = Wizard(client_for(people["lead"]), full)

    def here() -> set[str]:
        return english(Page(wizard.page().content.decode()).said)

    good = "item,rater,label,comment\nt1,r3,无,好\nt1,r3,轻微,好\nt2,r3,严重,好\n".encode()
    times = (
        "8点",
        "2026-03-01T10:00:00",
        "2999-01-01T00:00:00Z",
        "1960-01-01T00:00:00Z",
        "0001-01-01T00:00:00+14:00",
    )
    rows = [f"t{4 + place},r3,无,{time}" for place, time in enumerate(times)]
    bad = "\n".join(
        ["item,rater,label,timestamp", "t1,,无,", "t2,r3,未知,", "t3,r3", ",,,", *rows]
    ).encode()
    wizard.upload(bad, "评分1.csv")
    assert here() == set()
    wizard.choose(make_new="")
    assert here() == set()
    assert wizard.work().state == "refused"
    assert here() == set()
    wizard.upload(good, "评分1.csv")
    assert here() == set()
    wizard.choose()
    assert wizard.work().state == "checked"
    assert here() == set()
    wizard.start()
    assert here() == set()
    assert wizard.work().state == "done"
    assert here() == set()
    for broken in (
        b"",
        b"PK\x03\x04",
        b"%PDF-1.4",
        b"one\n1\n",
        b"a,b\n\xff,1\n",
        b'item,rater,label\n"x,1,2\n',
    ):
        response = wizard.upload(broken, "评分1.csv")
        page = wizard.page() if response.status_code == 302 else response
        assert english(Page(page.content.decode()).said) == set(), broken


def test_an_empty_project_and_an_empty_site(people, make_project, client_for):
    client = client_for(people["lead"])
    assert english([text for page in walk(client, "/").values() for text in page.said]) == set()
    project = make_project("空1", key="q1", labels=("是", "否"), created_by=people["lead"])
    project.questions.update(text="对吗？")
    Member.objects.create(project=project, user=people["lead"], role="lead")
    pages = walk(client, f"/projects/{project.pk}/")
    assert {path: words for path, page in pages.items() if (words := english(page.said))} == {}
    project.questions.all().delete()
    pages = walk(client, f"/projects/{project.pk}/")
    assert {path: words for path, page in pages.items() if (words := english(page.said))} == {}
