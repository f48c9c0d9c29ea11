"""Making and setting up a project in the browser: what is typed, what is saved, what is refused and
how it is said."""

from __future__ import annotations

import html
import re

import pytest

from metrics.agreement.headline import HeadlineFacts
from projects.forms.question_templates import QUESTION_TEMPLATES
from projects.forms.settings import build_category_formset
from projects.models import Category, Project, Question, Scale, Weights
from ratings.annotation.forms import build_options

pytestmark = pytest.mark.django_db

PROJECT = {
    "name": "Translations",
    "description": "",
    "guidelines": "# Rules",
    "overlap": "2",
    "time_zone": "utc",
}
MATRIX = ((1, 0.5, 0, 0), (0.5, 1, 0.5, 0), (0, 0.5, 1, 0.5), (0, 0, 0.5, 1))


def rows(*categories, **more):
    """The fields of the table of categories; each row is (label, value, hotkey) or a dict."""
    data = {"c-TOTAL_FORMS": len(categories), "c-INITIAL_FORMS": 0}
    for number, category in enumerate(categories):
        fields = (
            category
            if isinstance(category, dict)
            else dict(zip(("label", "value", "hotkey"), category, strict=False))
        )
        data |= {f"c-{number}-{name}": value for name, value in fields.items()}
    return data | more


def standing(question):
    return [
        {"code": c.code, "label": c.label, "value": c.value, "hotkey": c.hotkey, "ORDER": place}
        for place, c in enumerate(question.active_categories(), start=1)
    ]


def labels(question):
    return [category.label for category in Question.objects.get(pk=question.pk).active_categories()]


def text_of(response):
    return html.unescape(response.content.decode())


@pytest.fixture
def page(client_for, lead, project):
    """Posts to a page of the project as its lead."""
    client = client_for(lead)
    return lambda path, data: client.post(f"/projects/{project.pk}/{path}", data)


@pytest.fixture
def question_page(page):
    return lambda part, data: page(f"setup/questions/severity/{part}/", data)


def test_a_project_is_made_with_its_first_question(client_for, stranger):
    question = {"text": "How bad is it?", "key": "", "scale": "ordinal"}
    table = rows(("good", "", "k"), ("bad", "", "b"), ("", "", ""))
    response = client_for(stranger).post("/projects/new/", PROJECT | question | table)
    project = Project.objects.get()
    assert response["Location"] == f"/projects/{project.pk}/"
    assert (project.name, project.overlap, project.time_zone) == ("Translations", 2, "UTC")
    made = project.questions.get()
    assert (made.key, made.scale, labels(made)) == ("how-bad-is-it", "ordinal", ["good", "bad"])
    assert project.members.get().user == stranger


def test_a_row_is_added_without_javascript(client_for, lead):
    table = rows(("good", "", ""), ("", "", ""), add_row="1")
    response = client_for(lead).post(
        "/projects/new/", PROJECT | {"text": "?", "scale": "nominal"} | table
    )
    assert response.status_code == 200
    assert 'name="c-2-label"' in text_of(response)
    assert 'value="good"' in text_of(response)
    assert not Project.objects.exists()


def test_a_new_project_begins_with_what_many_ask(client_for, lead):
    """What is filled in is sent as it stands, and is a project."""
    client = client_for(lead)
    page = client.get("/projects/new/?start=grades")
    text = text_of(page)
    assert 'placeholder="5"' in text  # its key at the desk
    rows_shown = [form.initial for form in page.context["categories"].forms]
    sent = rows(*rows_shown, **PROJECT, text="How good?", scale="interval")
    assert client.post("/projects/new/?start=grades", sent).status_code == 302
    values = [category.value for category in Question.objects.get().active_categories()]
    assert values == [1, 2, 3, 4, 5]
    for name in QUESTION_TEMPLATES:
        assert client.get(f"/projects/new/?start={name}").status_code == 200
    assert client.get("/projects/new/?start=odd").context["start"] is None


def test_answers_are_pasted_one_a_line(client_for, lead):
    """They fill the empty rows first; nothing else is lost, and nothing is made."""
    sent = rows(("none", "", "n"), ("", "", ""), **PROJECT, text="How?", scale="ordinal")
    pasted = {"pasted": "minor\r\n\r\n  major \r\n", "paste_rows": "1"}
    page = client_for(lead).post("/projects/new/", sent | pasted)
    assert [form["label"].value() for form in page.context["categories"].forms] == [
        "none", "minor", "major",
    ]  # fmt: skip
    assert page.context["form"]["name"].value() == "Translations"
    assert not Project.objects.exists()


def test_a_further_question_begins_with_what_many_ask(client_for, lead, project, question):
    client, address = client_for(lead), f"/projects/{project.pk}/setup/new-question/"
    page = client.get(f"{address}?start=sentiment")
    shown = [form.initial["label"] for form in page.context["categories"].forms]
    assert shown == ["negative", "neutral", "positive"]
    assert page.context["question_form"]["scale"].value() == "ordinal"
    assert f'href="{address}"' in text_of(page)  # begin with nothing
    for name in QUESTION_TEMPLATES:
        assert client.get(f"{address}?start={name}").status_code == 200
    sent = rows(*((label, "", "") for label in shown), text="Which tone?", scale="ordinal")
    assert client.post(f"{address}?start=sentiment", sent).status_code == 302
    assert labels(project.questions.get(text="Which tone?")) == shown


def test_answers_of_a_further_question_are_pasted(client_for, lead, project, question):
    address = f"/projects/{project.pk}/setup/new-question/"
    sent = rows(("none", "", ""), ("", "", ""), text="How?", scale="ordinal")
    page = client_for(lead).post(address, sent | {"pasted": "minor\nmajor", "paste_rows": "1"})
    assert page.status_code == 200
    assert [form["label"].value() for form in page.context["categories"].forms] == [
        "none", "minor", "major",
    ]  # fmt: skip
    assert project.questions.count() == 1


@pytest.mark.parametrize("chosen", Weights)
@pytest.mark.parametrize("scale", Scale)
def test_weights_in_force_are_those_of_the_coefficients(scale, chosen):
    assert scale.weights_in_force(chosen) == HeadlineFacts(scale, 3, chosen).weighting


@pytest.mark.parametrize(
    ("scale", "chosen", "said"),
    [
        ("ordinal", "none", "weights: quadratic (chosen: none)"),
        ("ordinal", "linear", "weights: linear"),
        ("nominal", "none", "weights: none"),
        ("nominal", "linear", "weights: none (chosen: linear)"),
        ("interval", "none", "weights: none chosen; distances are those of the values"),
    ],
)
def test_the_list_of_questions_tells_the_weights_in_force(
    client_for, lead, question, scale, chosen, said
):
    Question.objects.update(scale=scale, weights=chosen)
    page = text_of(client_for(lead).get(f"/projects/{question.project_id}/setup/"))
    assert re.search(rf"{re.escape(said)}\s*</p>", page)


def test_the_picture_of_no_weights_is_that_of_those_which_stand_in(question_page, question):
    page = text_of(question_page("weights/check", {"weights": "none"}))
    assert "take these on this scale: quadratic." in page
    assert "0.89" in page  # one step of three: 1 - 1/9
    assert "take these on this scale" not in text_of(
        question_page("weights/check", {"weights": "linear"})
    )


def test_the_desk_is_shown_beside_what_is_typed(client_for, lead):
    """With the keys that the answers will have; what cannot be yet is left out."""
    client = client_for(lead)
    sent = rows(("none", "", "2"), ("", "", ""), ("<b>", "x", ""), text="How <i>?")
    text = client.post("/projects/desk-preview/", sent).content.decode()
    assert "How &lt;i&gt;?" in text
    assert re.findall(r"choice__label\">(.*?)<.*?<kbd[^>]*>(.)<", text, re.DOTALL) == [
        ("none", "2"),
        ("&lt;b&gt;", "1"),
    ]
    assert client.post("/projects/desk-preview/", {}).status_code == 200


def test_the_preview_of_a_stored_question_keeps_its_order_and_leaves_out_what_goes(
    lead, client_for, question
):
    client = client_for(lead)
    page = client.get(f"/projects/{question.project_id}/setup/questions/{question.key}/")
    assert 'id="desk-preview"' in page.content.decode()
    formset = page.context["categories"]
    sent = {f"{formset.prefix}-TOTAL_FORMS": "3", f"{formset.prefix}-INITIAL_FORMS": "3"}
    for place, (label, order) in enumerate((("first", 3), ("second", 1), ("third", 2))):
        sent[f"{formset.prefix}-{place}-label"] = label
        sent[f"{formset.prefix}-{place}-ORDER"] = str(order)
    sent[f"{formset.prefix}-2-DELETE"] = "on"
    text = client.post("/projects/desk-preview/", sent | {"stored": "1"}).content.decode()
    assert text.index("second") < text.index("first")
    assert "third" not in text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": ""}, "This field is required"),
        ({"name": "x" * 201}, "at most 200 characters"),
        ({"overlap": "0"}, "greater than or equal to 1"),
        ({"overlap": "99999"}, "a whole number from 1 to 1000"),
        ({"overlap": "two"}, "Enter a whole number"),
        ({"time_zone": "Mars/Base"}, "'Mars/Base' is no time zone; names look like Europe/Berlin"),
        ({"scale": "odd"}, "odd is not one of the available choices"),
        ({"key": "a b"}, "letters, numbers, underscores or hyphens"),
        (rows(("only", "", "")), "two categories at least"),
        (rows(("same", "", ""), ("same", "", "")), "'same' stands twice"),
        (rows(("a", "", "x"), ("b", "", "x")), "'x' stands twice"),
        # Alike to the eye: composed in two ways, and a letter of Cyrillic.
        (rows(("caf\u00e9", "", ""), ("cafe\u0301", "", "")), "stands twice"),
        (rows(("pass", "", ""), ("p\u0430ss", "", "")), "stands twice"),
        (rows(("a", "nan", ""), ("b", "1", "")), "Enter a number"),
        (rows(("a", "1e999", ""), ("b", "1", "")), "Enter a number"),
        (rows(("a", "1", ""), ("", "2", "")), "A label of 1 to 200 characters"),
        ({"scale": "interval"}, "needs a value"),
        ({"name": "a\x00b"}, "Null characters are not allowed"),
    ],
)
def test_bad_input_is_named_and_makes_nothing(client_for, lead, change, said):
    good = (
        PROJECT
        | {"text": "How bad?", "key": "bad", "scale": "ordinal"}
        | rows(("a", "", ""), ("b", "", ""))
    )
    response = client_for(lead).post("/projects/new/", good | change)
    assert response.status_code == 400
    assert said in text_of(response)
    assert not Project.objects.exists()


def test_a_table_of_rows_without_its_numbers_is_refused_kindly(client_for, lead):
    response = client_for(lead).post("/projects/new/", PROJECT | {"text": "?", "scale": "nominal"})
    assert response.status_code == 400


def test_settings_are_saved(page, project):
    response = page("setup/", PROJECT | {"queue_order": "random", "corrections": ""})
    assert response.status_code == 302
    project.refresh_from_db()
    assert (project.name, project.queue_order, project.corrections) == (
        "Translations",
        "random",
        False,
    )


def test_hidden_tests_are_off_at_first_and_need_the_random_order(page, project):
    assert (project.gold_percent, project.repeat_percent) == (0, 0)
    tests = {"gold_percent": "10", "repeat_percent": "3", "repeat_after_items": "60"}
    refused = page("setup/", PROJECT | tests | {"queue_order": "fixed"})
    assert refused.status_code == 400
    assert "choose the random order" in text_of(refused)
    for name, wrong in (("gold_percent", "51"), ("repeat_after_items", "9")):
        refused = page("setup/", PROJECT | tests | {"queue_order": "random", name: wrong})
        assert refused.status_code == 400
        assert "A whole number from" in text_of(refused)
    assert page("setup/", PROJECT | tests | {"queue_order": "random"}).status_code == 302
    project.refresh_from_db()
    assert (project.gold_percent, project.repeat_percent) == (10, 3)
    assert (project.repeat_after_items, project.repeat_after_days) == (60, 7)


def test_a_wrong_setting_saves_nothing(page, project):
    response = page("setup/", PROJECT | {"queue_order": "fixed", "time_zone": "Nowhere"})
    assert response.status_code == 400
    project.refresh_from_db()
    assert project.name == "Reviews"


def test_a_question_is_added_and_its_key_is_free(page, project):
    table = rows(("yes", "", "y"), ("no", "", "n"))
    response = page(
        "setup/new-question/", {"text": "流畅吗?", "key": "", "scale": "nominal"} | table
    )
    added = project.questions.get(position=1)
    assert response["Location"].endswith(f"/setup/questions/{added.key}/")
    assert added.key == "question-2"
    again = page(
        "setup/new-question/", {"text": "Again?", "key": "severity", "scale": "nominal"} | table
    )
    assert "has a question 'severity' already" in text_of(again)
    assert project.questions.count() == 2


def test_the_text_of_a_question_is_changed(question_page, question):
    assert question_page("text", {"text": "How grave?"}).status_code == 302
    assert question_page("text", {"text": ""}).status_code == 400
    question.refresh_from_db()
    assert question.text == "How grave?"


def test_a_question_is_called_by_its_text(client_for, lead, project, question):
    page = text_of(client_for(lead).get(f"/projects/{project.pk}/setup/questions/severity/"))
    assert page.split("<title>")[1].startswith(question.text)
    assert f'aria-current="page">{question.text}</span>' in page


def test_categories_are_renamed_moved_added_and_removed(question_page, question):
    table = standing(question)
    table[0]["ORDER"], table[1]["ORDER"] = 2, 1
    table[2]["label"] = "grave"
    table[3]["DELETE"] = "on"
    data = rows(*table, {"label": "fatal", "value": "9", "hotkey": "x"})
    response = question_page(
        "categories", data | {"scale": "ordinal", "seen_version": question.scale_version}
    )
    assert response.status_code == 302
    assert labels(question) == ["minor", "none", "grave", "fatal"]


@pytest.mark.parametrize("key", ["u", "S", "c", "F", "g", "?"])
def test_a_hotkey_of_the_desk_itself_is_refused_with_a_sentence(question_page, question, key):
    table = standing(question)
    table[1]["hotkey"] = key
    data = rows(*table) | {"scale": "ordinal", "seen_version": question.scale_version}
    response = question_page("categories", data)
    assert response.status_code == 400
    assert f"'{key}' is a key of the desk itself" in text_of(response)
    assert [category.hotkey for category in question.categories.all()] == ["1", "2", "3", "4"]


def test_a_used_category_stays_and_the_page_says_how_many_use_it(question_page, question, rate):
    rate(question, "i1", "a", "critical")
    table = standing(question)
    table[3]["DELETE"] = "on"
    response = question_page(
        "categories", rows(*table) | {"scale": "ordinal", "seen_version": question.scale_version}
    )
    assert response.status_code == 400
    assert "'critical' cannot be removed: 1 rating or gold answer uses it" in text_of(response)
    assert labels(question) == ["none", "minor", "major", "critical"]


def test_a_doubled_label_is_marked_in_its_row(question_page, question):
    table = standing(question)
    table[3]["label"] = "none"
    response = question_page(
        "categories", rows(*table) | {"scale": "ordinal", "seen_version": question.scale_version}
    )
    assert response.status_code == 400
    assert "'none' stands twice" in text_of(response)
    assert 'value="none"' in text_of(response)


def test_what_another_lead_changed_meanwhile_is_not_overwritten(question_page, question):
    stale = {"seen_version": question.scale_version}
    assert question_page("weights", {"weights": "linear", **stale}).status_code == 302
    response = question_page(
        "categories", rows(*standing(question)[:3]) | {"scale": "nominal", **stale}
    )
    assert "Somebody else changed this scale meanwhile" in text_of(response)
    assert len(labels(question)) == 4


def cells(matrix):
    return {f"cell-{i}-{j}": cell for i, row in enumerate(matrix) for j, cell in enumerate(row)}


def test_custom_weights_are_saved(question_page, question):
    response = question_page("weights", {"weights": "custom", "seen_version": 1, **cells(MATRIX)})
    assert response.status_code == 302
    question.refresh_from_db()
    assert (question.weights, question.weight_matrix) == ("custom", [list(row) for row in MATRIX])
    question_page("weights", {"weights": "linear", "seen_version": 2, "cell-0-0": "7"})
    question.refresh_from_db()
    assert (question.weights, question.weight_matrix) == ("linear", [list(row) for row in MATRIX])


def test_weights_by_order_are_not_offered_where_there_is_none(
    client_for, lead, question_page, question
):
    type(question).objects.update(scale="nominal")
    address = f"/projects/{question.project_id}/setup/questions/severity/"
    text = text_of(client_for(lead).get(address))
    assert 'value="custom"' in text
    assert 'value="linear"' not in text
    response = question_page("weights", {"weights": "linear", "seen_version": 1})
    assert response.status_code == 400
    question.refresh_from_db()
    assert (question.weights, question.scale_version) == ("none", 1)


def test_weights_that_stand_are_offered_on_any_scale(client_for, lead, question):
    type(question).objects.update(scale="nominal", weights="quadratic")
    address = f"/projects/{question.project_id}/setup/questions/severity/"
    assert 'value="quadratic"' in text_of(client_for(lead).get(address))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"cell-1-2": "0.4"},
            "not symmetric: row 3 (major), column 2 (minor) is 0.5, but row 2 (minor), column 3",
        ),
        ({"cell-0-0": "0.9"}, "row 1 (none), column 1 (none) is 0.9: equal answers agree fully"),
        ({"cell-0-3": "2"}, "row 1 (none), column 4 (critical) is 2: a number from 0 to 1"),
        ({"cell-0-3": "nan"}, "is nan: a number from 0 to 1"),
        ({"cell-0-3": "much"}, "is much: a number from 0 to 1"),
        ({"cell-0-3": ""}, "is empty: a number from 0 to 1"),
    ],
)
def test_a_wrong_matrix_is_named_live_and_when_saved(question_page, question, change, said):
    data = {"weights": "custom", "seen_version": 1, **cells(MATRIX), **change}
    assert said in text_of(question_page("weights/check", data))
    response = question_page("weights", data)
    assert response.status_code == 400
    assert said in text_of(response)
    question.refresh_from_db()
    assert (question.weights, question.weight_matrix, question.scale_version) == ("none", None, 1)


def test_the_check_shows_the_chosen_weights_and_changes_nothing(question_page, question):
    linear = text_of(question_page("weights/check", {"weights": "linear"}))
    assert "0.67" in linear
    assert "0.33" in linear
    assert "Fill in a weight" in text_of(question_page("weights/check", {"weights": "custom"}))
    assert "Fill in a weight" in text_of(question_page("weights/check", {"weights": "odd"}))
    question.refresh_from_db()
    assert question.scale_version == 1


@pytest.mark.parametrize(
    ("typed", "shown", "hidden"),
    [
        ("# Rules\n\n- **one**", "<h2>Rules</h2>", "<h1>"),
        ("<script>alert(1)</script>", "&lt;script&gt;", "<script>"),
        ("<img src=x onerror=alert(1)>", "&lt;img", "<img"),
        ("[a](javascript:alert(1))", "javascript:alert(1)", "href"),
        ("![x](https://elsewhere.example/x.png)", ">x</a>", "<img"),
        ("![x](/media/x.png)", '<img src="/media/x.png" alt="x">', "href"),
        ("[a](https://example.org)", 'rel="noopener noreferrer nofollow"', "onclick"),
        ("|a|\n|:-:|\n|b|", "<td>b</td>", "style="),
    ],
)
def test_guidelines_are_shown_safely(client_for, lead, typed, shown, hidden):
    response = client_for(lead).post("/projects/guidelines-preview/", {"guidelines": typed})
    assert shown in response.content.decode()
    assert hidden not in response.content.decode()


def test_the_setup_page_asks_the_database_a_fixed_number_of_times(
    client_for, lead, project, make_project, django_assert_max_num_queries
):
    from projects.services.question_validation import NewCategory, NewQuestion
    from projects.services.questions import add_question

    for number in range(5):
        new = NewQuestion(
            key=f"q{number}", text="?", categories=[NewCategory("a"), NewCategory("b")]
        )
        add_question(project=project, question=new, by=lead)
    client = client_for(lead)
    with django_assert_max_num_queries(10):
        client.get(f"/projects/{project.pk}/setup/")


def test_the_hints_of_hotkeys_are_what_the_desk_gives() -> None:
    """A key that a row declares is no other's, wherever the row stands."""
    table = [{"label": "a"}, {"label": "b"}, {"label": "c", "hotkey": "1"}]
    made = build_category_formset(extra=0)
    typed: dict[str, object] = {"form-TOTAL_FORMS": 3, "form-INITIAL_FORMS": 0}
    typed |= {f"form-{at}-{name}": v for at, row in enumerate(table) for name, v in row.items()}
    for formset in (made(initial=table), made(typed)):
        hints = [form.fields["hotkey"].widget.attrs["placeholder"] for form in formset]
        assert hints == ["2", "3", ""]
    keys = [row.get("hotkey", "") for row in table]
    declared = [Category(code=at, label=str(at), hotkey=key) for at, key in enumerate(keys)]
    assert [option.key for option in build_options(declared, "q")] == ["2", "3", "1"]
