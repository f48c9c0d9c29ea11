"""Small files as people have them: what their labels mean, in `import_file` and `agreement`.

The values were computed with other programs (scikit-learn, irrCAC, krippendorff, pingouin).
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from metrics.agreement.all_statistics import report
from projects.models import Project
from ratings.models import ImportRun, Rating
from tests.ratings.imports.test_command import import_with_scale, run_import_command

pytestmark = pytest.mark.django_db

CASES = Path(__file__).parent / "cases"


def import_case(lead: Any, path: Path, **options: Any) -> tuple[int, dict[str, Any]]:
    """Import a file into a new project; return the exit status and the JSON report."""
    options = {"name": "Case", "owner": lead.username, "json": True, **options}
    return import_with_scale(path, **options)


def run_agreement(path: Path, *options: str) -> dict[str, Any]:
    output = io.StringIO()
    call_command("agreement", str(path), "--json", *options, stdout=output)
    return json.loads(output.getvalue())


def compute_stored_report(key: str = "") -> dict[str, Any]:
    """Return report() of the ratings of the one project, with the categories in their order."""
    question = Project.objects.get().questions.get(**({"key": key} if key else {}))
    categories = list(question.active_categories())
    position = {category.code: index for index, category in enumerate(categories)}
    rows = list(Rating.objects.filter(question=question).values_list("item", "rater", "code"))
    items, raters = (sorted({row[column] for row in rows}) for column in (0, 1))
    table = np.full((len(items), len(raters)), -1)
    for item, rater, code in rows:
        table[items.index(item), raters.index(rater)] = position[code]
    values = [category.value for category in categories]
    return report(table, len(categories), None if None in values else values)  # type: ignore[arg-type]


def get_categories() -> list[str]:
    question = Project.objects.get().questions.get()
    return [category.label for category in question.active_categories()]


def get_note_kinds(result: dict[str, Any]) -> set[str]:
    questions = [labels for file in result["labels"].values() for labels in file.values()]
    return {note["kind"] for labels in questions for note in labels["notes"]}


@pytest.mark.parametrize("name", ["decimals_wide.csv", "decimals_long.csv"])
def test_numbers_that_are_equal_are_one_label(lead: Any, name: str) -> None:
    status, result = import_case(lead, CASES / name)
    assert (status, result["raters"], result["ratings"]) == (0, 3, 34)
    assert get_categories() == ["1", "2", "3"]
    assert compute_stored_report()["fleiss_kappa_quadratic"] == pytest.approx(0.8283, abs=5e-5)
    assert get_note_kinds(result) == {"equal"}


def test_agreement_joins_equal_numbers_alike() -> None:
    answer = run_agreement(CASES / "decimals_long.csv")
    assert answer["categories"] == ["1", "2", "3"]
    assert answer["fleiss_kappa_quadratic"] == pytest.approx(0.8283, abs=5e-5)


def test_words_for_missing_values_are_left_out(lead: Any) -> None:
    status, result = import_case(lead, CASES / "missing_words_wide.csv")
    assert (status, result["ratings"], result["left_out"]) == (0, 28, {"missing": 5})
    assert compute_stored_report()["fleiss_kappa"] == pytest.approx(0.8788, abs=5e-5)
    (note,) = result["notes"]
    assert "'-', 'N/A', 'n/a'" in note and "--not-missing" in note


def test_words_for_missing_values_can_be_kept(lead: Any) -> None:
    _status, result = import_case(
        lead, CASES / "missing_words_wide.csv", not_missing=["-,N/A"], similar="join"
    )
    assert result["left_out"] == {}
    assert get_categories() == ["-", "n/a", "no", "yes"]


def test_none_among_numbers_is_missing(lead: Any) -> None:
    status, result = import_case(lead, CASES / "missing_words_long.csv")
    assert (status, result["ratings"]) == (0, 7)
    answer = run_agreement(CASES / "missing_words_long.csv")
    assert (answer["krippendorff_alpha_nominal"], answer["missing"]) == (1, 2)
    report = run_agreement(CASES / "missing_words_long.csv", "--not-missing", "None")
    assert report["krippendorff_alpha_nominal"] == pytest.approx(0.333, abs=5e-4)


@pytest.mark.parametrize(
    ("name", "order", "kappa"),
    [
        ("words_in_order.csv", ["low", "medium", "high"], 0.75),
        ("percents.csv", ["0%", "5%", "25%", "50%", "100%"], 0.9032),
        (
            "likert.csv",
            [
                "Strongly disagree",
                "Disagree",
                "Neither agree nor disagree",
                "Agree",
                "Strongly agree",
            ],
            0.8571,
        ),
    ],
)
def test_import_and_agreement_use_the_same_order(
    lead: Any, name: str, order: list[str], kappa: float
) -> None:
    status, result = import_case(lead, CASES / name)
    assert status == 0 and get_categories() == order
    assert Project.objects.get().questions.get().scale == "ordinal"
    ((labels,),) = [list(file.values()) for file in result["labels"].values()]
    assert (labels["scale"], labels["order"]) == ("ordinal", order)
    assert compute_stored_report()["weighted_kappa_quadratic"] == pytest.approx(kappa, abs=5e-5)
    answer = run_agreement(CASES / name, "--scale", "ordinal")
    assert answer["categories"] == order and not answer["notes"]
    assert answer["weighted_kappa_quadratic"] == pytest.approx(kappa, abs=5e-5)


def test_alphabetical_order_is_never_used_in_silence(lead: Any, tmp_path: Path) -> None:
    path = tmp_path / "animals.csv"
    path.write_text("item,rater,label\n1,a,cat\n1,b,dog\n2,a,bird\n2,b,bird\n")
    status, result = import_case(lead, path, scale="ordinal")
    assert status == 1 and not Project.objects.exists()
    assert "alphabetical order" in result["problems"][0]["message"]
    assert "--order" in result["problems"][0]["message"]
    assert import_case(lead, path, scale="ordinal", order="cat,bird,dog")[0] == 0
    (note,) = run_agreement(path, "--scale", "ordinal")["notes"]
    assert note["kind"] == "no_order"
    assert not run_agreement(path)["notes"]


def test_case_is_joined_only_after_asking(lead: Any) -> None:
    path = CASES / "case_and_blanks.csv"
    status, result = import_case(lead, path)
    assert status == 1 and not Project.objects.exists() and not ImportRun.objects.exists()
    message = result["problems"][0]["message"]
    assert "Positive / positive / POSITIVE" in message and "--similar=join" in message
    assert import_case(lead, path, similar="join", dry_run=True)[0] == 0
    status, result = import_case(lead, path, similar="join")
    assert (status, get_note_kinds(result)) == (0, {"joined"})
    # Three categories; 0.697 is Cohen's kappa of them.
    assert sorted(get_categories()) == ["Negative", "Neutral", "Positive"]
    assert compute_stored_report()["cohen_kappa"] == pytest.approx(0.697, abs=5e-4)


def test_case_can_be_kept(lead: Any) -> None:
    assert import_case(lead, CASES / "case_and_blanks.csv", similar="keep")[0] == 0
    assert len(get_categories()) == 7


def test_two_spellings_of_an_accent_are_one_label(lead: Any) -> None:
    assert import_case(lead, CASES / "accents.csv")[0] == 0
    assert compute_stored_report()["cohen_kappa"] == 1
    assert run_agreement(CASES / "accents.csv")["cohen_kappa"] == 1


def test_several_labels_in_a_cell_are_reported(lead: Any) -> None:
    status, result = import_case(lead, CASES / "several_labels.csv")
    assert (status, get_note_kinds(result)) == (0, {"several_labels"})
    assert {"joy|love", "fear|surprise", "anger|disgust"} < set(get_categories())
    assert len(get_categories()) == 8


def test_decimal_commas_are_numbers(lead: Any) -> None:
    status, result = import_case(
        lead, CASES / "decimal_commas.csv", layout="wide", map=["item=Fall"], scale="interval"
    )
    assert (status, result["ratings"]) == (0, 24)
    assert get_categories() == ["2.5", "3", "3.5", "9.5", "10"]
    stored = compute_stored_report()
    assert stored["icc2"] == pytest.approx(0.9949, abs=5e-5)
    assert stored["weighted_kappa_quadratic"] == pytest.approx(0.88, abs=5e-3)


def test_more_values_than_categories_are_sent_to_agreement(lead: Any) -> None:
    status, result = import_case(lead, CASES / "scores.csv")
    assert status == 1 and not Project.objects.exists()
    (problem,) = result["problems"]
    assert "66 different labels" in problem["message"]
    assert "manage.py agreement FILE --scale interval" in problem["message"]


def test_labels_with_commas_have_an_order(lead: Any) -> None:
    order = '"No, never",Sometimes,"Yes, often"'
    assert import_case(lead, CASES / "labels_with_commas.csv", order=order)[0] == 0
    assert get_categories() == ["No, never", "Sometimes", "Yes, often"]
    assert compute_stored_report()["weighted_kappa_quadratic"] == pytest.approx(0.8)
    answer = run_agreement(CASES / "labels_with_commas.csv", "--order", order)
    assert answer["weighted_kappa_quadratic"] == pytest.approx(0.8)
    with pytest.raises(CommandError, match="not closed"):
        run_agreement(CASES / "labels_with_commas.csv", "--order", '"No, never')


def test_a_ratio_scale_has_no_negative_values() -> None:
    with pytest.raises(CommandError, match="On a ratio scale values are 0 or more"):
        run_agreement(CASES / "negative_ratio.csv", "--scale", "ratio")
    assert run_agreement(CASES / "negative_ratio.csv", "--scale", "interval")["n_items"] == 6


def test_a_number_that_may_be_missing_is_asked_about(lead: Any, tmp_path: Path) -> None:
    path = tmp_path / "codes.csv"
    path.write_text("item,rater,label\n1,a,1\n1,b,-99\n2,a,2\n2,b,2\n3,a,3\n3,b,3\n")
    status, result = import_case(lead, path)
    assert status == 1 and not Project.objects.exists()
    assert "--missing=-99" in result["problems"][0]["message"]
    with pytest.raises(CommandError, match="--not-missing=-99"):
        run_agreement(path)
    assert run_agreement(path, "--missing=-99")["n_ratings"] == 5
    assert run_agreement(path, "--not-missing=-99")["n_ratings"] == 6
    status, result = import_case(lead, path, missing=["-99"])
    assert (status, result["ratings"], result["left_out"]) == (0, 5, {"missing": 1})


def test_a_file_for_an_existing_question_may_spell_its_labels_differently(
    lead: Any, tmp_path: Path
) -> None:
    assert import_case(lead, CASES / "decimals_wide.csv")[0] == 0
    project = Project.objects.get()
    path = tmp_path / "more.csv"
    path.write_text("item,rater,label\n1,d,1.0\n2,d,+2\n3,d,NA\n")
    output = io.StringIO()
    call_command("import_file", str(path), project=project.pk, stdout=output)
    result = json.loads(output.getvalue())
    assert (result["ratings"], result["left_out"]) == (2, {"missing": 1})
    assert get_categories() == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("name", "n_values", "icc"),
    [
        ("scores.csv", 66, 0.9749),
        ("measurements.csv", 74, 0.9948),
        ("decimal_commas.csv", 5, 0.9949),
    ],
)
def test_agreement_takes_any_number_of_values(name: str, n_values: int, icc: float) -> None:
    answer = run_agreement(CASES / name, "--scale", "interval")
    assert len(answer["categories"]) == n_values
    assert answer["icc2"] == pytest.approx(icc, abs=5e-5)


def test_agreement_reads_wide_tables_like_an_import() -> None:
    answer = run_agreement(CASES / "missing_words_wide.csv")
    assert (answer["n_ratings"], answer["missing"]) == (28, 5)
    assert answer["fleiss_kappa"] == pytest.approx(0.8788, abs=5e-5)
    answer = run_agreement(CASES / "case_and_blanks.csv", "--similar", "join")
    assert answer["cohen_kappa"] == pytest.approx(0.697, abs=5e-4)
    with pytest.raises(CommandError, match=r"Perhaps the same labels.* --similar=join"):
        run_agreement(CASES / "case_and_blanks.csv")
    answer = run_agreement(CASES / "several_labels.csv")
    assert "joy|love" in answer["categories"] and len(answer["categories"]) == 8
    answer = run_agreement(CASES / "decimals_wide.csv")
    assert answer["fleiss_kappa_quadratic"] == pytest.approx(0.8283, abs=5e-5)


def test_the_scale_of_bare_numbers_is_required(lead: Any) -> None:
    path = CASES / "decimals_wide.csv"
    options = {"name": "Case", "owner": lead.username}
    status, result = run_import_command(path, **options)
    assert status == 1 and not Project.objects.exists() and not ImportRun.objects.exists()
    (problem,) = result["problems"]
    assert problem["kind"] == "scale"
    assert "--scale nominal, --scale ordinal or --scale interval" in problem["message"]
    question = result["understood"][str(path)]["questions"]["label"]
    assert (question["scale"], question["order"]) == ("", ["1", "2", "3"])
    for order in ("", "1,2,3"):
        status, result = run_import_command(
            path, **options, dry_run=True, order=order, scale="" if order else "nominal"
        )
        assert status == 0
        assert result["understood"][str(path)]["scale"] == ("ordinal" if order else "nominal")


def test_each_question_has_its_own_scale(lead: Any, tmp_path: Path) -> None:
    path = tmp_path / "two.csv"
    path.write_text(
        "item,rater,topic,quality\n"
        + "".join(f"{n},{rater},{n % 4},{n % 5}\n" for n in range(9) for rater in "ab")
    )
    options = {"name": "Case", "owner": lead.username, "map": ["label=topic", "label=quality"]}
    (problem,) = run_import_command(path, **options)[1]["problems"]
    assert "--scale topic=ordinal,quality=ordinal" in problem["message"]
    for scale in ("topic=nominal", "topic=nominal,colour=ordinal", "quality=ordinal"):
        assert run_import_command(path, **options, scale=scale)[0] == 1
    assert not Project.objects.exists()
    with pytest.raises(CommandError, match="QUESTION=SCALE"):
        run_import_command(path, **options, scale="topic=best")
    assert run_import_command(path, **options, scale="ordinal,topic=nominal")[0] == 0
    scales = Project.objects.get().questions.values_list("key", "scale")
    assert dict(scales) == {"topic": "nominal", "quality": "ordinal"}


def test_agreement_notes_that_no_scale_was_chosen() -> None:
    def get_notes(name: str, *options: str) -> set[str]:
        return {note["kind"] for note in run_agreement(CASES / name, *options)["notes"]}

    assert "open_scale" in get_notes("decimals_wide.csv")
    assert "open_scale" not in get_notes("decimals_wide.csv", "--scale", "nominal")
    assert get_notes("likert.csv") == {"seem_ordered"}
    assert get_notes("likert.csv", "--scale", "ordinal") == set()
