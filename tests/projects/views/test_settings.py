"""Pages that create and set up a project: input, saved data and error messages."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.contrib.messages import get_messages

from metrics.agreement.headline import HeadlineFacts
from projects.forms.question_templates import QUESTION_TEMPLATES
from projects.forms.settings import build_category_formset
from projects.models import Category, Project, Question, Scale, ScaleVersion, Weights
from ratings.annotation.forms import build_answer_options
from tests.cast import build_question_data

pytestmark = pytest.mark.django_db

PROJECT_DATA = {
    "name": "Translations",
    "description": "",
    "guidelines": "# Rules",
    "overlap": "2",
    "time_zone": "utc",
}
MATRIX = ((1, 0.5, 0, 0), (0.5, 1, 0.5, 0), (0, 0.5, 1, 0.5), (0, 0, 0.5, 1))


def build_category_data(*categories, **extra):
    """Return the form data of the category table; each row is (label, value, hotkey) or a dict."""
    data = {"c-TOTAL_FORMS": len(categories), "c-INITIAL_FORMS": 0}
    for number, category in enumerate(categories):
        fields = (
            category
            if isinstance(category, dict)
            else dict(zip(("label", "value", "hotkey"), category, strict=False))
        )
        data |= {f"c-{number}-{name}": value for name, value in fields.items()}
    return data | extra


def list_category_rows(question):
    return [
        {
            "code": category.code,
            "label": category.label,
            "value": category.value,
            "hotkey": category.hotkey,
            "ORDER": position,
        }
        for position, category in enumerate(question.active_categories(), start=1)
    ]


def list_labels(question):
    return [category.label for category in Question.objects.get(pk=question.pk).active_categories()]


def get_text(response):
    return html.unescape(response.content.decode())


@pytest.fixture
def post_to_project(client_for, lead, project):
    """Return a function that posts to a page of the project as its lead."""
    client = client_for(lead)
    return lambda path, data: client.post(f"/projects/{project.pk}/{path}", data)


@pytest.fixture
def post_to_question(post_to_project):
    return lambda part, data: post_to_project(f"settings/questions/severity/{part}/", data)


@pytest.fixture
def save_question(post_to_project, question):
    """Return a function that changes fields of the question's page and saves it."""

    def save(**changes):
        question.refresh_from_db()
        question.__dict__.pop("_prefetched_objects_cache", None)
        data = build_question_data(question, changes)
        return post_to_project("settings/questions/severity/", data)

    return save


def test_project_is_created_with_its_first_question(client_for, stranger):
    question = {"text": "How bad is it?", "key": "", "scale": "ordinal"}
    table = build_category_data(("good", "", "k"), ("bad", "", "b"), ("", "", ""))
    response = client_for(stranger).post("/projects/new/", PROJECT_DATA | question | table)
    project = Project.objects.get()
    assert response["Location"] == f"/projects/{project.pk}/"
    assert (project.name, project.overlap, project.time_zone) == ("Translations", 2, "UTC")
    saved_question = project.questions.get()
    assert (saved_question.key, saved_question.scale, list_labels(saved_question)) == (
        "how-bad-is-it",
        "ordinal",
        ["good", "bad"],
    )
    assert project.members.get().user == stranger


def test_a_row_is_added_without_javascript(client_for, lead):
    table = build_category_data(("good", "", ""), ("", "", ""), add_row="1")
    response = client_for(lead).post(
        "/projects/new/", PROJECT_DATA | {"text": "?", "scale": "nominal"} | table
    )
    assert response.status_code == 200
    assert 'name="c-2-label"' in get_text(response)
    assert 'value="good"' in get_text(response)
    assert not Project.objects.exists()


def test_new_project_starts_from_a_template(client_for, lead):
    """The prefilled data is valid: posting it unchanged creates a project."""
    client = client_for(lead)
    page = client.get("/projects/new/?template=grades")
    text = get_text(page)
    assert 'placeholder="5"' in text  # its hotkey on the annotation page
    initial_rows = [form.initial for form in page.context["categories"].forms]
    form_data = build_category_data(
        *initial_rows, **PROJECT_DATA, text="How good?", scale="interval"
    )
    assert client.post("/projects/new/?template=grades", form_data).status_code == 302
    values = [category.value for category in Question.objects.get().active_categories()]
    assert values == [1, 2, 3, 4, 5]
    for name in QUESTION_TEMPLATES:
        assert client.get(f"/projects/new/?template={name}").status_code == 200
    assert client.get("/projects/new/?template=odd").context["selected_template"] is None


def test_pasted_answers_fill_one_row_for_each_line(client_for, lead):
    """Pasted answers fill the empty rows first; other input is kept and nothing is created."""
    form_data = build_category_data(
        ("none", "", "n"), ("", "", ""), **PROJECT_DATA, text="How?", scale="ordinal"
    )
    pasted = {"pasted": "minor\r\n\r\n  major \r\n", "paste_rows": "1"}
    page = client_for(lead).post("/projects/new/", form_data | pasted)
    assert [form["label"].value() for form in page.context["categories"].forms] == [
        "none", "minor", "major",
    ]  # fmt: skip
    assert page.context["form"]["name"].value() == "Translations"
    assert not Project.objects.exists()


def test_new_question_starts_from_a_template(client_for, lead, project, question):
    client, address = client_for(lead), f"/projects/{project.pk}/settings/new-question/"
    page = client.get(f"{address}?template=sentiment")
    initial_labels = [form.initial["label"] for form in page.context["categories"].forms]
    assert initial_labels == ["negative", "neutral", "positive"]
    assert page.context["question_form"]["scale"].value() == "ordinal"
    assert f'href="{address}"' in get_text(page)  # start without a template
    for name in QUESTION_TEMPLATES:
        assert client.get(f"{address}?template={name}").status_code == 200
    form_data = build_category_data(
        *((label, "", "") for label in initial_labels), text="Which tone?", scale="ordinal"
    )
    assert client.post(f"{address}?template=sentiment", form_data).status_code == 302
    assert list_labels(project.questions.get(text="Which tone?")) == initial_labels


def test_pasted_answers_fill_rows_of_a_new_question(client_for, lead, project, question):
    address = f"/projects/{project.pk}/settings/new-question/"
    form_data = build_category_data(("none", "", ""), ("", "", ""), text="How?", scale="ordinal")
    page = client_for(lead).post(address, form_data | {"pasted": "minor\nmajor", "paste_rows": "1"})
    assert page.status_code == 200
    assert [form["label"].value() for form in page.context["categories"].forms] == [
        "none", "minor", "major",
    ]  # fmt: skip
    assert project.questions.count() == 1


@pytest.mark.parametrize("weights", Weights)
@pytest.mark.parametrize("scale", Scale)
def test_weights_in_force_are_those_of_the_coefficients(scale, weights):
    assert scale.get_effective_weights(weights) == HeadlineFacts(scale, 3, weights).weighting


@pytest.mark.parametrize(
    ("scale", "weights", "description"),
    [
        ("ordinal", "none", "weights: quadratic (default)"),
        ("ordinal", "linear", "weights: linear"),
        ("nominal", "none", "weights: none"),
        ("nominal", "linear", "weights: none"),
        ("interval", "none", "weights: distances between values"),
    ],
)
def test_question_list_shows_the_weights_in_force(
    client_for, lead, question, scale, weights, description
):
    Question.objects.update(scale=scale, weights=weights)
    page = get_text(client_for(lead).get(f"/projects/{question.project_id}/settings/questions/"))
    assert re.search(rf"{re.escape(description)}\s*</p>", page)


def test_no_weights_are_called_and_shown_as_the_default_weights(
    post_to_question, client_for, lead, question
):
    page = get_text(post_to_question("weights/check", {"weights": "none"}))
    assert "0.89" in page  # one step of three: 1 - 1/9
    form = client_for(lead).get(f"/projects/{question.project_id}/settings/questions/severity/")
    assert dict(form.context["weights_form"].fields["weights"].choices) == {
        "none": "quadratic (default)",
        "linear": "linear",
        "quadratic": "quadratic",
        "custom": "custom",
    }


def test_annotation_preview_shows_the_typed_question(client_for, lead):
    """The preview shows the future hotkeys and leaves out what is not valid yet."""
    client = client_for(lead)
    form_data = build_category_data(
        ("none", "", "2"), ("", "", ""), ("<b>", "x", ""), text="How <i>?"
    )
    text = client.post("/projects/question-preview/", form_data).content.decode()
    assert "How &lt;i&gt;?" in text
    assert re.findall(r"choice__label\">(.*?)<.*?<kbd[^>]*>(.)<", text, re.DOTALL) == [
        ("none", "2"),
        ("&lt;b&gt;", "1"),
    ]
    assert client.post("/projects/question-preview/", {}).status_code == 200


def test_preview_of_saved_question_uses_order_and_omits_deleted(lead, client_for, question):
    client = client_for(lead)
    page = client.get(f"/projects/{question.project_id}/settings/questions/{question.key}/")
    assert 'id="desk-preview"' in page.content.decode()
    formset = page.context["categories"]
    form_data = {f"{formset.prefix}-TOTAL_FORMS": "3", f"{formset.prefix}-INITIAL_FORMS": "3"}
    for index, (label, order) in enumerate((("first", 3), ("second", 1), ("third", 2))):
        form_data[f"{formset.prefix}-{index}-label"] = label
        form_data[f"{formset.prefix}-{index}-ORDER"] = str(order)
    form_data[f"{formset.prefix}-2-DELETE"] = "on"
    text = client.post("/projects/question-preview/", form_data | {"stored": "1"}).content.decode()
    assert text.index("second") < text.index("first")
    assert "third" not in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": ""}, "This field is required"),
        ({"name": "x" * 201}, "at most 200 characters"),
        ({"overlap": "0"}, "greater than or equal to 1"),
        ({"overlap": "99999"}, "a whole number from 1 to 1000"),
        ({"overlap": "two"}, "Enter a whole number"),
        (
            {"time_zone": "Mars/Base"},
            "Use a time zone like Europe/Berlin",
        ),
        ({"scale": "odd"}, "odd is not one of the available choices"),
        ({"key": "a b"}, "letters, numbers, underscores or hyphens"),
        (build_category_data(("only", "", "")), "Enter 2 to 50 categories"),
        (build_category_data(("same", "", ""), ("same", "", "")), "“same” appears twice"),
        (build_category_data(("a", "", "x"), ("b", "", "x")), "“x” appears twice"),
        # Lookalikes: two Unicode compositions, and a Cyrillic letter.
        (build_category_data(("caf\u00e9", "", ""), ("cafe\u0301", "", "")), "appears twice"),
        (build_category_data(("pass", "", ""), ("p\u0430ss", "", "")), "appears twice"),
        (build_category_data(("a", "nan", ""), ("b", "1", "")), "Enter a number"),
        (build_category_data(("a", "1e999", ""), ("b", "1", "")), "Enter a number"),
        (
            build_category_data(("a", "1", ""), ("", "2", "")),
            "1 to 200 visible characters",
        ),
        ({"scale": "interval"}, "need values"),
        ({"name": "a\x00b"}, "Null characters are not allowed"),
    ],
)
def test_invalid_input_is_reported_and_creates_nothing(client_for, lead, change, message):
    valid_data = (
        PROJECT_DATA
        | {"text": "How bad?", "key": "bad", "scale": "ordinal"}
        | build_category_data(("a", "", ""), ("b", "", ""))
    )
    response = client_for(lead).post("/projects/new/", valid_data | change)
    assert response.status_code == 400
    assert message in get_text(response)
    assert not Project.objects.exists()


def test_category_table_without_management_form_is_rejected(client_for, lead):
    response = client_for(lead).post(
        "/projects/new/", PROJECT_DATA | {"text": "?", "scale": "nominal"}
    )
    assert response.status_code == 400


def test_settings_are_saved(post_to_project, project):
    response = post_to_project(
        "settings/", PROJECT_DATA | {"queue_order": "random", "allows_corrections": ""}
    )
    assert response.status_code == 302
    project.refresh_from_db()
    assert (project.name, project.queue_order, project.allows_corrections) == (
        "Translations",
        "random",
        False,
    )


def test_quality_checks_are_off_by_default_and_need_random_order(post_to_project, project):
    assert (project.gold_percent, project.repeat_percent) == (0, 0)
    checks = {"gold_percent": "10", "repeat_percent": "3", "repeat_after_items": "60"}
    response = post_to_project("settings/checks/", checks)
    assert response.status_code == 400
    assert "choose a random one, or 0" in get_text(response)
    Project.objects.update(queue_order="random")
    for name, invalid_value in (("gold_percent", "51"), ("repeat_after_items", "9")):
        response = post_to_project("settings/checks/", checks | {name: invalid_value})
        assert response.status_code == 400
        assert "Enter a whole number from" in get_text(response)
    assert post_to_project("settings/checks/", checks).status_code == 302
    project.refresh_from_db()
    assert (project.gold_percent, project.repeat_percent) == (10, 3)
    assert (project.repeat_after_items, project.repeat_after_days) == (60, 7)
    response = post_to_project("settings/", PROJECT_DATA | {"queue_order": "fixed"})
    assert "choose a random one, or 0" in get_text(response)


def test_invalid_setting_saves_nothing(post_to_project, project):
    response = post_to_project(
        "settings/", PROJECT_DATA | {"queue_order": "fixed", "time_zone": "Nowhere"}
    )
    assert response.status_code == 400
    project.refresh_from_db()
    assert project.name == "Reviews"


def test_added_question_gets_an_unused_key(post_to_project, project):
    table = build_category_data(("yes", "", "y"), ("no", "", "n"))
    response = post_to_project(
        "settings/new-question/", {"text": "流畅吗?", "key": "", "scale": "nominal"} | table
    )
    added = project.questions.get(position=1)
    assert response["Location"].endswith(f"/settings/questions/{added.key}/")
    assert added.key == "question-2"
    duplicate_response = post_to_project(
        "settings/new-question/", {"text": "Again?", "key": "severity", "scale": "nominal"} | table
    )
    assert "“severity” already exists" in get_text(duplicate_response)
    assert project.questions.count() == 2


@pytest.mark.parametrize(
    ("path", "field", "other_field"),
    [
        ("settings/", "overlap", "description"),
        ("settings/checks/", "repeat_after_days", "repeat_after_items"),
        ("labels/rules/", "max_ratings", "budget"),
        ("exams/", "max_attempts", "max_answers"),
    ],
)
def test_an_old_page_undoes_no_change_of_another_page(
    post_to_project, client_for, lead, project, path, field, other_field
):
    """Two browser tabs show the page; each changes another field, then both change the same."""
    page = client_for(lead).get(f"/projects/{project.pk}/{path}")
    form = page.context["form"]
    page_data = {}
    for name in form.fields:
        if f'name="{form[name].html_initial_name}"' in page.content.decode():
            page_data[form[name].html_initial_name] = form[name].value()
        page_data[name] = form[name].value()
    data = {
        name: value for name, value in page_data.items() if value is not None and value is not False
    }
    assert form[other_field].html_initial_name in data
    for changed in (other_field, field):
        response = post_to_project(path, data | {changed: 10})
        assert response.status_code == 302, response.context["form"].errors
    saved = client_for(lead).get(f"/projects/{project.pk}/{path}").context["form"].initial
    assert (saved[other_field], saved[field]) in [(10, 10), ("10", 10)]
    conflict = post_to_project(path, data | {field: 8})
    assert conflict.status_code == 400
    assert "Someone else changed this to “10”" in get_text(conflict)


@pytest.mark.parametrize(
    ("page_path", "path", "first", "second"),
    [
        ("gold/", "gold/settings/", {"pass_mark": "0.65"}, {"tolerance": "1"}),
        ("gold/", "gold/settings/", {"pass_mark": "0.65"}, {"pass_mark": "0.80"}),
        ("alerts/settings/", "alerts/settings/", {"sensitivity": "high"}, {}),
        (
            "alerts/settings/",
            "alerts/settings/",
            {"sensitivity": "high"},
            {"sensitivity": "medium"},
        ),
    ],
)
def test_an_old_page_with_fields_of_its_own_undoes_no_change(
    post_to_project, client_for, lead, project, question, page_path, path, first, second
):
    item = project.items.create(key="g", body={})
    question.gold_answers.create(item=item, version=1, answer=[0], created_at="2026-01-01T00:00Z")
    page = client_for(lead).get(f"/projects/{project.pk}/{page_path}").content.decode()
    data: dict[str, str] = {}
    for name, value in re.findall(
        r'<input type="hidden" name="initial-(\w+)" value="(.*?)">', page
    ):
        data |= {f"initial-{name}": value, name: value}
    assert set(first) <= set(data)
    post_to_project(path, data | first)
    response = post_to_project(path, data | second)
    (name, value), *_others = first.items()
    page = client_for(lead).get(f"/projects/{project.pk}/{page_path}").content.decode()
    assert f'name="initial-{name}" value="{value}"' in page
    if name in second:
        text = get_text(response if response.status_code == 400 else client_for(lead).get("/"))
        text += " ".join(map(str, get_messages(response.wsgi_request)))
        assert "Someone else changed this to" in text
    elif second:
        assert 'name="initial-tolerance" value="1"' in page


@pytest.mark.parametrize("tab", ["", "guidelines/", "checks/"])
def test_a_tab_of_the_settings_saves_its_own_fields_alone(
    post_to_project, client_for, lead, project, tab
):
    """Saving one tab must not reset what another tab saved meanwhile."""
    page = client_for(lead).get(f"/projects/{project.pk}/settings/{tab}")
    form = {name: value for name, value in page.context["form"].initial.items() if value}
    Project.objects.update(
        name="Films",
        guidelines="Look.",
        repeat_after_items=99,
        time_zone="Asia/Tokyo",
    )
    own = set(page.context["form"].fields)
    before: dict[str, Any] = dict(Project.objects.values().get())
    assert post_to_project(f"settings/{tab}", form).status_code == 302
    after: dict[str, Any] = dict(Project.objects.values().get())
    changed = {name for name in before if before[name] != after[name]}
    assert changed
    assert changed <= own | {"guidelines_version"}
    assert page.content.decode().count("data-guard") == 1


def test_question_page_saves_all_its_parts_or_none(save_question, question):
    """Labels, text and weights were three forms; saving one discarded the others."""
    response = save_question(**{"text": "How grave?", "c-1-label": "small", "weights": "linear"})
    assert response.status_code == 302
    question.refresh_from_db()
    assert (question.text, question.weights, question.scale_version) == ("How grave?", "linear", 3)
    assert list_labels(question) == ["none", "small", "major", "critical"]
    response = save_question(
        **{"text": "Again?", "c-2-label": "large", "weights": "custom", "cell-0-1": "much"}
    )
    assert response.status_code == 400
    text = get_text(response)
    assert 'value="Again?"' in text  # what was typed is still there
    assert 'value="large"' in text
    assert "Save new categories first" in text
    question.refresh_from_db()
    assert (question.text, question.scale_version) == ("How grave?", 3)
    assert list_labels(question) == ["none", "small", "major", "critical"]


def test_saving_an_unchanged_question_says_so(save_question, question):
    messages = [str(message) for message in get_messages(save_question().wsgi_request)]
    assert messages == ["Nothing has changed."]
    question.refresh_from_db()
    assert question.scale_version == 1
    assert not ScaleVersion.objects.exists()


def test_unchanged_text_does_not_undo_a_newer_one(save_question, question):
    changes = {"text": question.text, "initial-text": question.text, "c-1-label": "small"}
    Question.objects.update(text="Newer?")
    assert save_question(**changes).status_code == 302
    assert Question.objects.get().text == "Newer?"


def test_the_text_of_a_question_is_changed(save_question, question):
    assert save_question(text="How grave?").status_code == 302
    assert save_question(text="").status_code == 400
    question.refresh_from_db()
    assert question.text == "How grave?"


def test_question_page_is_titled_by_the_question_text(client_for, lead, project, question):
    page = get_text(client_for(lead).get(f"/projects/{project.pk}/settings/questions/severity/"))
    assert page.split("<title>")[1].startswith(question.text)
    assert f'aria-current="page">{question.text}</span>' in page


def test_categories_are_renamed_moved_added_and_removed(save_question, question):
    table = list_category_rows(question)
    table[0]["ORDER"], table[1]["ORDER"] = 2, 1
    table[2]["label"] = "grave"
    table[3]["DELETE"] = "on"
    data = build_category_data(*table, {"label": "fatal", "value": "9", "hotkey": "x"})
    response = save_question(**data)
    assert response.status_code == 302
    assert list_labels(question) == ["minor", "none", "grave", "fatal"]


@pytest.mark.parametrize("key", ["u", "S", "c", "F", "g", "?"])
def test_reserved_hotkey_is_rejected_with_a_message(save_question, question, key):
    table = list_category_rows(question)
    table[1]["hotkey"] = key
    response = save_question(**build_category_data(*table))
    assert response.status_code == 400
    assert f"“{key}” is reserved" in get_text(response)
    assert [category.hotkey for category in question.categories.all()] == ["1", "2", "3", "4"]


def test_used_category_stays_and_the_error_shows_its_uses(save_question, question, rate):
    rate(question, "i1", "a", "critical")
    table = list_category_rows(question)
    table[3]["DELETE"] = "on"
    response = save_question(**build_category_data(*table))
    assert response.status_code == 400
    assert "“critical” has 1 rating or gold answer" in get_text(response)
    assert list_labels(question) == ["none", "minor", "major", "critical"]


def test_duplicate_label_is_marked_in_its_row(save_question, question):
    table = list_category_rows(question)
    table[3]["label"] = "none"
    response = save_question(**build_category_data(*table))
    assert response.status_code == 400
    assert "“none” appears twice" in get_text(response)
    assert 'value="none"' in get_text(response)


def test_concurrent_change_of_another_lead_is_not_overwritten(
    post_to_question, save_question, question
):
    stale = {"seen_version": question.scale_version}
    assert post_to_question("weights", {"weights": "linear", **stale}).status_code == 302
    response = save_question(
        **build_category_data(*list_category_rows(question)[:3]), scale="nominal", **stale
    )
    assert "Someone else changed this" in get_text(response)
    assert len(list_labels(question)) == 4


def build_matrix_data(matrix):
    return {f"cell-{i}-{j}": cell for i, row in enumerate(matrix) for j, cell in enumerate(row)}


def test_custom_weights_are_saved(post_to_question, question):
    response = post_to_question(
        "weights", {"weights": "custom", "seen_version": 1, **build_matrix_data(MATRIX)}
    )
    assert response.status_code == 302
    question.refresh_from_db()
    assert (question.weights, question.weight_matrix) == ("custom", [list(row) for row in MATRIX])
    post_to_question("weights", {"weights": "linear", "seen_version": 2, "cell-0-0": "7"})
    question.refresh_from_db()
    assert (question.weights, question.weight_matrix) == ("linear", [list(row) for row in MATRIX])


def test_ordered_weights_are_not_offered_on_a_nominal_scale(
    client_for, lead, post_to_question, question
):
    type(question).objects.update(scale="nominal")
    address = f"/projects/{question.project_id}/settings/questions/severity/"
    text = get_text(client_for(lead).get(address))
    assert 'value="custom"' in text
    assert 'value="linear"' not in text
    response = post_to_question("weights", {"weights": "linear", "seen_version": 1})
    assert response.status_code == 400
    question.refresh_from_db()
    assert (question.weights, question.scale_version) == ("none", 1)


def test_current_weights_are_offered_on_any_scale(client_for, lead, question):
    type(question).objects.update(scale="nominal", weights="quadratic")
    address = f"/projects/{question.project_id}/settings/questions/severity/"
    assert 'value="quadratic"' in get_text(client_for(lead).get(address))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"cell-1-2": "0.4"},
            "Not symmetric: row 3, column 2 is 0.5, row 2, column 3",
        ),
        (
            {"cell-0-0": "0.9"},
            "row 1, column 1 must be 1, not 0.9",
        ),
        ({"cell-0-3": "2"}, "row 1, column 4 must be 0–1, not 2"),
        ({"cell-0-3": "nan"}, "must be 0–1, not nan"),
        ({"cell-0-3": "much"}, "must be 0–1, not much"),
        ({"cell-0-3": ""}, "must be 0–1, not empty"),
    ],
)
def test_invalid_matrix_is_reported_live_and_when_saved(
    post_to_question, question, change, message
):
    data = {"weights": "custom", "seen_version": 1, **build_matrix_data(MATRIX), **change}
    assert message in get_text(post_to_question("weights/check", data))
    response = post_to_question("weights", data)
    assert response.status_code == 400
    assert message in get_text(response)
    question.refresh_from_db()
    assert (question.weights, question.weight_matrix, question.scale_version) == ("none", None, 1)


def test_weights_check_shows_selected_weights_and_saves_nothing(post_to_question, question):
    linear = get_text(post_to_question("weights/check", {"weights": "linear"}))
    assert "0.67" in linear
    assert "0.33" in linear
    assert "Enter each pair’s weight" in get_text(
        post_to_question("weights/check", {"weights": "custom"})
    )
    assert "Enter each pair’s weight" in get_text(
        post_to_question("weights/check", {"weights": "odd"})
    )
    question.refresh_from_db()
    assert question.scale_version == 1


@pytest.mark.parametrize(
    ("markdown", "expected", "forbidden"),
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
def test_guidelines_are_shown_safely(client_for, lead, markdown, expected, forbidden):
    response = client_for(lead).post("/projects/guidelines-preview/", {"guidelines": markdown})
    assert expected in response.content.decode()
    assert forbidden not in response.content.decode()


def test_settings_page_makes_a_fixed_number_of_queries(
    client_for, lead, project, make_project, django_assert_max_num_queries
):
    from projects.services.question_validation import NewCategory, NewQuestion
    from projects.services.questions import add_question

    for number in range(5):
        question = NewQuestion(
            key=f"q{number}", text="?", categories=[NewCategory("a"), NewCategory("b")]
        )
        add_question(project=project, question=question, by=lead)
    client = client_for(lead)
    with django_assert_max_num_queries(11):
        client.get(f"/projects/{project.pk}/settings/")


def test_hotkey_placeholders_match_the_annotation_page() -> None:
    """A hotkey declared by one row is assigned to no other row, wherever that row is."""
    table = [{"label": "a"}, {"label": "b"}, {"label": "c", "hotkey": "1"}]
    formset_class = build_category_formset(extra=0)
    form_data: dict[str, object] = {"form-TOTAL_FORMS": 3, "form-INITIAL_FORMS": 0}
    form_data |= {
        f"form-{index}-{name}": value
        for index, row in enumerate(table)
        for name, value in row.items()
    }
    for formset in (formset_class(initial=table), formset_class(form_data)):
        hints = [form.fields["hotkey"].widget.attrs["placeholder"] for form in formset]
        assert hints == ["2", "3", ""]
    keys = [row.get("hotkey", "") for row in table]
    declared = [
        Category(code=index, label="abc"[index], hotkey=key) for index, key in enumerate(keys)
    ]
    assert [option.key for option in build_answer_options(declared, "q")] == ["2", "3", "1"]
