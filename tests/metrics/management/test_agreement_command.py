"""`manage.py agreement FILE.csv` works without a database and says what is wrong with a file, and
where."""

import gzip
import json

import pytest
from django.core.management import CommandError, call_command

from metrics.agreement import report

ROWS = [
    ("a", "ann", "minor"),
    ("a", "bob", "major"),
    ("b", "ann", "none"),
    ("b", "bob", "none"),
    ("c", "ann", "major"),
]


@pytest.fixture
def file(tmp_path):
    def write(text, encoding="utf-8"):
        path = tmp_path / "ratings.csv"
        path.write_bytes(text.encode(encoding))
        return str(path)

    return write


def lines(rows, header="item,rater,label"):
    return "\n".join([header, *(",".join(row) for row in rows)])


def run(capsys, *arguments):
    call_command("agreement", *arguments)
    return capsys.readouterr().out


def test_json_is_the_report_with_the_order_that_was_asked_for(file, capsys):
    found = json.loads(run(capsys, file(lines(ROWS)), "--order", "none,minor,major", "--json"))
    assert found["categories"] == ["none", "minor", "major"]
    assert found["raters"] == ["ann", "bob"]
    expected = report([[1, 2], [0, 0], [2, -1]], 3)
    assert {name: found[name] for name in expected} == json.loads(json.dumps(expected))


def test_a_packed_file_is_read_as_it_is(file, capsys, tmp_path):
    packed = tmp_path / "ratings.csv.gz"
    packed.write_bytes(gzip.compress(lines(ROWS).encode()))
    assert run(capsys, str(packed), "--json") == run(capsys, file(lines(ROWS)), "--json")
    packed.write_bytes(packed.read_bytes()[:-9])
    with pytest.raises(CommandError, match=r"ratings.csv.gz: .*damaged or cut off"):
        run(capsys, str(packed))


def test_without_an_order_labels_are_sorted_and_numbers_by_size(file, capsys):
    rows = [("a", "x", "10"), ("a", "y", "9"), ("b", "x", "9"), ("b", "y", "9")]
    found = json.loads(run(capsys, file(lines(rows)), "--json"))
    assert (found["categories"], found["values"]) == (["9", "10"], [9, 10])
    assert json.loads(run(capsys, file(lines(ROWS)), "--json"))["categories"] == [
        "major",
        "minor",
        "none",
    ]


@pytest.mark.parametrize(("scale", "shown", "hidden"), [
    ("nominal", "fleiss_kappa", "fleiss_kappa_linear"),
    ("ordinal", "krippendorff_alpha_ordinal", "krippendorff_alpha_interval"),
    ("interval", "icc2", None),
])  # fmt: skip
def test_the_scale_decides_what_is_printed(file, capsys, scale, shown, hidden):
    names = [
        line.split()[0]
        for line in run(capsys, file(lines(ROWS)), "--scale", scale).splitlines()
        if line
    ]
    assert shown in names
    assert hidden not in names


def test_text_says_what_it_rests_on(file, capsys):
    text = run(capsys, file(lines(ROWS)))
    assert text.startswith(
        "3 items, 2 raters, 5 ratings; 2 items with two or more ratings\ncategories: major, minor, "
        "none"
    )
    assert "undefined" not in text.split("cohen_kappa ")[1].splitlines()[0]


def test_values_and_a_custom_matrix(file, capsys):
    matrix = [[1, 0.5, 0], [0.5, 1, 0.5], [0, 0.5, 1]]
    found = json.loads(
        run(capsys, file(lines(ROWS)), "--order", "none,minor,major", "--values", "0,1,5", "--matrix",
            json.dumps(matrix), "--json")
    )  # fmt: skip
    expected = report([[1, 2], [0, 0], [2, -1]], 3, [0, 1, 5], matrix)
    assert found["weighted_kappa_custom"] == expected["weighted_kappa_custom"]
    assert found["krippendorff_alpha_interval"] == expected["krippendorff_alpha_interval"]


def test_the_latest_rating_stands(file, capsys):
    again = [*ROWS, ("a", "ann", "none")]
    found = json.loads(run(capsys, file(lines(again)), "--json"))
    assert (found["repeats_left_out"], found["n_ratings"]) == (1, 5)
    timed = [(*row, f"2026-03-01T1{n}:00:00Z") for n, row in enumerate(again)]
    reversed_file = file(lines(timed[::-1], "item,rater,label,timestamp"))
    assert json.loads(run(capsys, reversed_file, "--json"))["fleiss_kappa"] == found["fleiss_kappa"]


def test_rows_of_one_question(file, capsys):
    rows = [(*row, "one") for row in ROWS] + [("a", "ann", "other", "two")]
    path = file("\ufeff" + lines(rows, "Item,Rater,Label,Question"))
    assert json.loads(run(capsys, path, "--question", "one", "--json"))["n_ratings"] == 5
    with pytest.raises(CommandError, match="No row is of question 'three'"):
        run(capsys, path, "--question", "three")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", [], "Line 1: No column named 'item' or 'rater' or 'label'.*it has nothing"),
        ("item,rater\na,b", [], "Line 1: No column named 'label'.*it has 'item', 'rater'"),
        ("item,rater,label,label\n", [], "Line 1: There are 2 columns named 'label'"),
        ("item,rater,label\n", [], "There is no rating in the file"),
        ("item,rater,label\na,b,x\nc,d\n", [], "Line 3: 2 cells, where the line of names has 3"),
        ("item,rater,label\na,b,\n", [], "Line 2: The label is empty"),
        (
            "item,rater,label\na,b,x\na,c,mjor\n",
            ["--order", "x,y"],
            "Line 3: Unknown label 'mjor'; one of x, y",
        ),
        ("item,rater,label\na,b,x\n", ["--order", "x,y,x"], "The order names 'x' twice"),
        ("item,rater,label\na,b,x\n", [], "at least two categories, not 1"),
        (
            "item,rater,label,timestamp\na,b,x,yesterday\n",
            [],
            "Line 2: 'yesterday' is no time such as 2026-",
        ),
        ('item,rater,label\na,b,"x\n', [], "Line 2: A cell that begins with a quotation mark"),
        ("item,rater,label\na,b,x\0\n", [], "Line 2: There is a NUL character"),
        (
            lines(ROWS),
            ["--values", "1,b,3"],
            "--values must be numbers separated by commas, not '1,b,3'",
        ),
        (lines(ROWS), ["--values", "1,2"], "values must be 3 numbers"),
        (lines(ROWS), ["--matrix", "[[1"], "--matrix is no JSON"),
        (lines(ROWS), ["--matrix", "[[1,0],[0,1]]"], "square, 3 x 3 for 3 categories, not 2 x 2"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(file, text, options, message):
    with pytest.raises(CommandError, match=rf"ratings\.csv: .*{message}"):
        call_command("agreement", file(text), *options)


def test_another_encoding_is_refused(file):
    with pytest.raises(
        CommandError, match="Line 2: Byte 0xE9 does not belong into a text in UTF-8"
    ):
        call_command("agreement", file("item,rater,label\na,b,r\u00e9sum\u00e9\n", "latin-1"))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(CommandError, match=r"absent\.csv: There is no such file"):
        call_command("agreement", str(tmp_path / "absent.csv"))


def test_what_is_read_first_comes_first_and_models_are_told_apart(file, capsys):
    rows = []
    for item in range(12):
        label = ("low", "mid", "high")[item % 3]
        rows += [(f"i{item}", rater, label) for rater in ("ann", "bob")]
        rows.append((f"i{item}", "gpt", "low"))
    path = file(lines(rows))
    ordered = ("--scale", "ordinal", "--order", "low,mid,high")
    found = json.loads(run(capsys, path, *ordered, "--models", "gpt", "--json"))
    assert found["headline"]["name"] == "cohen_kappa_quadratic"
    assert (found["headline"]["value"], found["headline"]["of"]) == (1.0, "people")
    assert (found["n_people"], found["n_models"]) == (2, 1)
    assert found["people_models"]["value"] == pytest.approx(0)
    assert found["models"]["reason"] == "needs_two_raters"
    text = run(capsys, path, *ordered, "--models", "gpt")
    assert "read first: cohen_kappa_quadratic (two raters)" in text
    with pytest.raises(CommandError, match="no rater 'gtp' in the file"):
        run(capsys, path, "--models", "gtp")


def test_a_test_says_its_p_and_no_zero_is_negative(file, capsys):
    rows = [(f"i{n}", "x", "a" if n % 3 else "b") for n in range(30)]
    rows += [(f"i{n}", "y", "a" if n % 5 else "b") for n in range(30)]
    text = run(capsys, file(lines(rows)))
    (bowker,) = [line for line in text.splitlines() if line.startswith("bowker")]
    assert "df 1, p = 0." in bowker
    (largest,) = [line for line in text.splitlines() if line.startswith("kappa_max")]
    assert "perfect" not in largest
    assert "-0.000" not in text


def test_two_raters_and_rules_about_missing_ratings(file, capsys):
    rows = [*ROWS, ("a", "cleo", "minor"), ("b", "cleo", "none")]
    found = json.loads(run(capsys, file(lines(rows)), "--pair", "bob,ann", "--json"))
    expected = report([[0, 1], [2, 2]], 3)
    assert found["pair"]["table"] == [[0, 1, 0], [0, 0, 0], [0, 0, 1]]
    assert found["pair"]["coefficients"]["scott_pi"]["value"] == expected["scott_pi"]
    left_out = {rule["name"]: rule["left_out_ratings"] for rule in found["policies"]}
    assert left_out == {"available": 0, "by_item": 0, "complete": 1, "paired": 1}
    text = run(capsys, file(lines(rows)), "--pair", "bob,ann")
    assert "complete (fleiss_kappa)" in text
    assert "P_o 0.500, P_e 0.250" in text
    assert "bowker" in text
    for wrong in ("ann", "ann,ann", "ann,dan"):
        with pytest.raises(CommandError, match="two different raters of the file"):
            run(capsys, file(lines(rows)), "--pair", wrong)


def test_agreement_on_scores_of_values_and_of_a_gold_score(file, capsys, tmp_path):
    """Kappa with quadratic weights on scores is Lin's concordance."""
    rows = [
        (f"i{n}", rater, label)
        for n, pair in enumerate(["aa", "ab", "bb", "bc", "cc", "cb"])
        for rater, label in zip(("x", "y"), pair, strict=True)
    ]
    path = file(lines(rows))
    told = ("--scores", "values", "--values", "1,2,9", "--json")
    found = json.loads(run(capsys, path, *told))["scored"]["coefficients"]
    assert found["cohen_kappa_custom"]["value"] == pytest.approx(found["lin_ccc"]["value"])
    expected = report([[0, 0], [0, 1], [1, 1], [1, 2], [2, 2], [2, 1]], 3, values=[1, 2, 9])
    assert found["icc2"]["value"] == pytest.approx(expected["icc2"])
    gold = tmp_path / "gold.csv"
    gold.write_text("item,score\ni0,10\ni1,20\ni2,20\ni3,40\ni4,50\n")
    scored = json.loads(run(capsys, path, "--scores", str(gold), "--json"))["scored"]
    assert scored["scores"] == pytest.approx([40 / 3, 25, 140 / 3])
    text = run(capsys, path, "--scores", str(gold))
    assert "agreement on scores a 13.3, b 25, c 46.7" in text
    for wrong, message in (
        ("item,points\n", "columns item and score"),
        ("item,score\ni0,much\n", "line 2: the score is no number"),
        ("item,score\ni0,nan\n", "line 2: 'nan' is no number"),
    ):
        gold.write_text(wrong)
        with pytest.raises(CommandError, match=message):
            run(capsys, path, "--scores", str(gold))
    with pytest.raises(CommandError, match="No such file"):
        run(capsys, path, "--scores", str(tmp_path / "none.csv"))


def test_words_of_the_scheme_that_is_asked_for_say_when_they_do_not_fit(file, capsys):
    text = run(capsys, file(lines(ROWS)), "--scheme", "altman")
    said = {line.split()[0]: line for line in text.splitlines() if line.strip()}
    assert not said["fleiss_kappa"].endswith("*")
    assert said["gwet_ac1"].endswith(" *")
    assert "* words of altman were made for another coefficient" in text
    with pytest.raises(CommandError, match="invalid choice: 'mine'"):
        run(capsys, file(lines(ROWS)), "--scheme", "mine")


def test_text_names_one_item_as_one_and_one_mean_as_pages_do(file, capsys):
    text = run(capsys, file(lines(ROWS[:2])))
    assert text.startswith("1 item, 2 raters, 2 ratings; 1 item with two or more ratings")
    text = run(capsys, file(lines(ROWS)))
    assert "  observed agreement 0.500, by chance" in text
    assert "the most that these margins allow" in text
    assert "mean_pairwise_kappa " in text
    assert "light_kappa" not in text
