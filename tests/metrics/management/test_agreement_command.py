"""`manage.py agreement FILE.csv` works without a database and reports errors with their line."""

import ast
import gzip
import json
import os
import subprocess
import sys

import pytest
from django.conf import settings
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
def write_file(tmp_path):
    def write(text, encoding="utf-8"):
        path = tmp_path / "ratings.csv"
        path.write_bytes(text.encode(encoding))
        return str(path)

    return write


def format_csv(rows, header="item,rater,label"):
    return "\n".join([header, *(",".join(row) for row in rows)])


def run_command(capsys, *arguments):
    call_command("agreement", *arguments)
    return capsys.readouterr().out


def test_json_is_report_with_requested_order(write_file, capsys):
    answer = json.loads(
        run_command(capsys, write_file(format_csv(ROWS)), "--order", "none,minor,major", "--json")
    )
    assert answer["categories"] == ["none", "minor", "major"]
    assert answer["raters"] == ["ann", "bob"]
    expected = report([[1, 2], [0, 0], [2, -1]], 3)
    assert {name: answer[name] for name in expected} == json.loads(json.dumps(expected))


def test_compressed_file_is_read(write_file, capsys, tmp_path):
    packed = tmp_path / "ratings.csv.gz"
    packed.write_bytes(gzip.compress(format_csv(ROWS).encode()))
    assert run_command(capsys, str(packed), "--json") == run_command(
        capsys, write_file(format_csv(ROWS)), "--json"
    )
    packed.write_bytes(packed.read_bytes()[:-9])
    with pytest.raises(CommandError, match=r"ratings.csv.gz: .*damaged or needs"):
        run_command(capsys, str(packed))


def test_labels_are_sorted_and_numbers_by_size(write_file, capsys):
    rows = [("a", "x", "10"), ("a", "y", "9"), ("b", "x", "9"), ("b", "y", "9")]
    answer = json.loads(run_command(capsys, write_file(format_csv(rows)), "--json"))
    assert (answer["categories"], answer["values"]) == (["9", "10"], [9, 10])
    # The order is the one that an import guesses, not the alphabet's.
    answer = json.loads(run_command(capsys, write_file(format_csv(ROWS)), "--json"))
    assert answer["categories"] == ["none", "minor", "major"]
    assert answer["order_basis"] == "known_scale"


@pytest.mark.parametrize(("scale", "included", "excluded"), [
    ("nominal", "fleiss_kappa", "fleiss_kappa_linear"),
    ("ordinal", "krippendorff_alpha_ordinal", "krippendorff_alpha_interval"),
    ("interval", "icc2", None),
    ("interval", "iccqk_incomplete", None),
    ("ordinal", "krippendorff_alpha_ordinal", "iccqk_incomplete"),
])  # fmt: skip
def test_scale_decides_which_coefficients_are_printed(
    write_file, capsys, scale, included, excluded
):
    names = [
        line.split()[0]
        for line in run_command(capsys, write_file(format_csv(ROWS)), "--scale", scale).splitlines()
        if line
    ]
    assert included in names
    assert excluded not in names


def test_text_shows_sample_sizes(write_file, capsys):
    text = run_command(capsys, write_file(format_csv(ROWS)), "--scale", "nominal")
    assert text.startswith(
        "3 items, 2 raters, 5 ratings; 2 items with two or more ratings\ncategories: none, minor, "
        "major"
    )
    assert "undefined" not in text.split("cohen_kappa ")[1].splitlines()[0]


def test_values_and_a_custom_matrix(write_file, capsys):
    matrix = [[1, 0.5, 0], [0.5, 1, 0.5], [0, 0.5, 1]]
    answer = json.loads(
        run_command(capsys, write_file(format_csv(ROWS)), "--order", "none,minor,major", "--values", "0,1,5", "--matrix",
            json.dumps(matrix), "--json")
    )  # fmt: skip
    expected = report([[1, 2], [0, 0], [2, -1]], 3, [0, 1, 5], matrix)
    assert answer["weighted_kappa_custom"] == expected["weighted_kappa_custom"]
    assert answer["krippendorff_alpha_interval"] == expected["krippendorff_alpha_interval"]


def test_latest_rating_counts(write_file, capsys):
    repeated = [*ROWS, ("a", "ann", "none")]
    answer = json.loads(run_command(capsys, write_file(format_csv(repeated)), "--json"))
    assert (answer["repeats_left_out"], answer["n_ratings"]) == (1, 5)
    rows_with_times = [(*row, f"2026-03-01T1{n}:00:00Z") for n, row in enumerate(repeated)]
    reversed_file = write_file(format_csv(rows_with_times[::-1], "item,rater,label,timestamp"))
    assert (
        json.loads(run_command(capsys, reversed_file, "--json"))["fleiss_kappa"]
        == answer["fleiss_kappa"]
    )


def test_item_in_several_rows_of_a_wide_table(write_file, capsys):
    path = write_file("item,r1,r2\nA,x,x\nB,y,x\nA,y,y\nC,x,x\n")
    with pytest.raises(CommandError, match=r"2 labels repeat an earlier one: A \(lines 2 and 4\)"):
        run_command(capsys, path)
    for policy in ("last", "first", "repeat"):
        answer = json.loads(run_command(capsys, path, "--duplicates", policy, "--json"))
        assert (answer["repeats_left_out"], answer["n_ratings"]) == (2, 6)
        assert answer["percent_agreement"] == pytest.approx(2 / 3)


def test_first_of_repeated_ratings(write_file, capsys):
    rows = [("a", "ann", "yes"), ("a", "bob", "no"), ("a", "ann", "no"), ("b", "ann", "yes")]
    path = write_file(format_csv(rows))
    values = {
        policy: json.loads(run_command(capsys, path, "--duplicates", policy, "--json"))
        for policy in ("last", "first")
    }
    assert values["last"]["percent_agreement"] == 1 and values["first"]["percent_agreement"] == 0


def test_order_of_day_and_month(write_file, capsys):
    rows = [
        ("a", "ann", "yes", "01/02/2026"),
        ("a", "ann", "no", "02/01/2026"),
        ("a", "bob", "no", ""),
    ]
    path = write_file(format_csv(rows, "item,rater,label,date"))
    with pytest.raises(CommandError, match="--dates dmy"):
        run_command(capsys, path)
    values = [
        json.loads(run_command(capsys, path, "--dates", order, "--json"))["percent_agreement"]
        for order in ("dmy", "mdy")
    ]
    assert values == [0, 1]


def test_rows_of_one_question(write_file, capsys):
    rows = [(*row, "one") for row in ROWS] + [("a", "ann", "other", "two")]
    path = write_file("\ufeff" + format_csv(rows, "Item,Rater,Label,Question"))
    assert json.loads(run_command(capsys, path, "--question", "one", "--json"))["n_ratings"] == 5
    with pytest.raises(CommandError, match="No row is of question 'three'"):
        run_command(capsys, path, "--question", "three")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", [], "The file is empty"),
        ("item,rater\na,b", [], "Choose a label column.*columns are item, rater"),
        ("item,rater,label,label\n", [], "Line 1: Columns 3 and 4 are named 'label'"),
        (
            "item,rater,label\n",
            [],
            "Line 1: No ratings below the header row",
        ),
        (
            "item,rater,label\na,b,x\nc,d\n",
            [],
            "Line 3: The header row has 3 cells, this row 2",
        ),
        ("item,rater,label\na,b,\n", [], "Every label in the file stands for a missing value"),
        (
            "item,rater,label\na,b,x\na,c,mjor\n",
            ["--order", "x,y"],
            "Line 3: 'mjor' isn't a label. Allowed: x, y",
        ),
        ("item,rater,label\na,b,x\n", ["--order", "x,y,x"], "The order names 'x' twice"),
        ("item,rater,label\na,b,x\n", [], "at least two categories, not 1"),
        (
            "item,rater,label,timestamp\na,b,x,yesterday\n",
            [],
            "Line 2: 'yesterday' isn't ISO 8601",
        ),
        ('item,rater,label\na,b,"x\n', [], "Line 2: Quotation marks must enclose the whole cell"),
        ("item,rater,label\na,b,x\0\n", [], "Line 2: Text can't contain NUL"),
        (
            format_csv(ROWS),
            ["--values", "1,b,3"],
            "--values must be numbers separated by commas, not '1,b,3'",
        ),
        (format_csv(ROWS), ["--values", "1,2"], "values must be 3 numbers"),
        (format_csv(ROWS), ["--matrix", "[[1"], "--matrix is no JSON"),
        (
            format_csv(ROWS),
            ["--matrix", "[[1,0],[0,1]]"],
            "square, 3 x 3 for 3 categories, not 2 x 2",
        ),
    ],
)
def test_invalid_file_is_refused_with_its_line(write_file, text, options, message):
    with pytest.raises(CommandError, match=rf"ratings\.csv: .*{message}"):
        call_command("agreement", write_file(text), *options)


def test_another_encoding_is_refused(write_file):
    with pytest.raises(CommandError, match="Line 2: Byte 0xE9 isn't valid in UTF-8"):
        call_command("agreement", write_file("item,rater,label\na,b,r\u00e9sum\u00e9\n", "latin-1"))


def test_missing_file_is_reported(tmp_path):
    with pytest.raises(CommandError, match=r"absent\.csv: There is no such file"):
        call_command("agreement", str(tmp_path / "absent.csv"))


def test_headline_comes_first_and_models_are_separate(write_file, capsys):
    rows = []
    for item in range(12):
        label = ("low", "mid", "high")[item % 3]
        rows += [(f"i{item}", rater, label) for rater in ("ann", "bob")]
        rows.append((f"i{item}", "gpt", "low"))
    path = write_file(format_csv(rows))
    ordered = ("--scale", "ordinal", "--order", "low,mid,high")
    answer = json.loads(run_command(capsys, path, *ordered, "--models", "gpt", "--json"))
    assert answer["headline"]["name"] == "cohen_kappa_quadratic"
    assert (answer["headline"]["value"], answer["headline"]["population"]) == (1.0, "people")
    assert (answer["n_people"], answer["n_models"]) == (2, 1)
    assert answer["people_models"]["value"] == pytest.approx(0)
    assert answer["models"]["reason"] == "needs_two_raters"
    text = run_command(capsys, path, *ordered, "--models", "gpt")
    assert "read first: cohen_kappa_quadratic (two raters)" in text
    assert "  without weights 1.000" in text
    with pytest.raises(CommandError, match="no rater 'gtp' in the file"):
        run_command(capsys, path, "--models", "gtp")


def test_tests_show_p_values_and_no_negative_zero(write_file, capsys):
    rows = [(f"i{n}", "x", "a" if n % 3 else "b") for n in range(30)]
    rows += [(f"i{n}", "y", "a" if n % 5 else "b") for n in range(30)]
    text = run_command(capsys, write_file(format_csv(rows)))
    (bowker,) = [line for line in text.splitlines() if line.startswith("bowker")]
    assert "df 1, p = 0." in bowker
    (largest,) = [line for line in text.splitlines() if line.startswith("kappa_max")]
    assert "perfect" not in largest
    assert "-0.000" not in text


def test_pair_and_missing_rating_policies(write_file, capsys):
    rows = [*ROWS, ("a", "cleo", "minor"), ("b", "cleo", "none")]
    answer = json.loads(
        run_command(capsys, write_file(format_csv(rows)), "--pair", "bob,ann", "--json")
    )
    # Rows are bob's none, minor, major; columns ann's.
    expected = report([[1, 2], [0, 0]], 3)
    assert answer["pair"]["table"] == [[1, 0, 0], [0, 0, 0], [0, 1, 0]]
    assert answer["pair"]["coefficients"]["scott_pi"]["value"] == expected["scott_pi"]
    left_out = {rule["name"]: rule["left_out_ratings"] for rule in answer["policies"]}
    assert left_out == {"available": 0, "by_item": 0, "complete": 1, "paired": 1}
    text = run_command(capsys, write_file(format_csv(rows)), "--pair", "bob,ann")
    assert "complete (fleiss_kappa)" in text
    assert "P_o 0.500, P_e 0.250" in text
    assert "bowker" in text
    for pair in ("ann", "ann,ann", "ann,dan"):
        with pytest.raises(CommandError, match="two different raters of the file"):
            run_command(capsys, write_file(format_csv(rows)), "--pair", pair)


def test_scores_from_values_and_from_gold_file(write_file, capsys, tmp_path):
    """Kappa with quadratic weights on scores equals Lin's concordance."""
    rows = [
        (f"i{n}", rater, label)
        for n, pair in enumerate(["aa", "ab", "bb", "bc", "cc", "cb"])
        for rater, label in zip(("x", "y"), pair, strict=True)
    ]
    path = write_file(format_csv(rows))
    options = ("--scores", "values", "--values", "1,2,9", "--json")
    estimates = json.loads(run_command(capsys, path, *options))["scored"]["coefficients"]
    assert estimates["cohen_kappa_custom"]["value"] == pytest.approx(estimates["lin_ccc"]["value"])
    expected = report([[0, 0], [0, 1], [1, 1], [1, 2], [2, 2], [2, 1]], 3, values=[1, 2, 9])
    assert estimates["icc2"]["value"] == pytest.approx(expected["icc2"])
    gold = tmp_path / "gold.csv"
    gold.write_text("item,score\ni0,10\ni1,20\ni2,20\ni3,40\ni4,50\n")
    scored = json.loads(run_command(capsys, path, "--scores", str(gold), "--json"))["scored"]
    assert scored["scores"] == pytest.approx([40 / 3, 25, 140 / 3])
    text = run_command(capsys, path, "--scores", str(gold))
    assert "agreement on scores a 13.3, b 25, c 46.7" in text
    for text_of_file, message in (
        ("item,points\n", "columns item and score"),
        ("item,score\ni0,much\n", "line 2: the score is no number"),
        ("item,score\ni0,nan\n", "line 2: 'nan' is no number"),
    ):
        gold.write_text(text_of_file)
        with pytest.raises(CommandError, match=message):
            run_command(capsys, path, "--scores", str(gold))
    with pytest.raises(CommandError, match="No such file"):
        run_command(capsys, path, "--scores", str(tmp_path / "none.csv"))


def test_bands_mark_coefficients_that_they_do_not_fit(write_file, capsys):
    rows = [
        (str(item), rater, label)
        for item in range(60)
        for rater, label in (("ann", "abc"[item % 3]), ("bob", "abc"[(item + item // 50) % 3]))
    ]
    text = run_command(capsys, write_file(format_csv(rows)), "--scheme", "altman")
    line_by_name = {line.split()[0]: line for line in text.splitlines() if line.strip()}
    assert not line_by_name["fleiss_kappa"].endswith("*")
    assert line_by_name["gwet_ac1"].endswith(" *")
    assert "* the bands of altman were defined for another coefficient" in text
    assert line_by_name["fleiss_kappa"].endswith("good")
    with pytest.raises(CommandError, match="invalid choice: 'mine'"):
        run_command(capsys, write_file(format_csv(ROWS)), "--scheme", "mine")


def test_no_band_is_named_of_too_little_data(write_file, capsys):
    """Full agreement of few items, or of items that are nearly all alike, is no good agreement."""
    few = [(str(item), rater, "ab"[item % 2]) for item in range(5) for rater in ("ann", "bob")]
    text = run_command(capsys, write_file(format_csv(few)))
    assert "not enough data" in text or "no bands: " in text
    assert "almost perfect" not in text
    rare = [(str(item), rater, "ab"[item == 0]) for item in range(60) for rater in ("ann", "bob")]
    text = run_command(capsys, write_file(format_csv(rare)))
    assert "no bands: the definitions differ, or a category is too rare" in text
    assert "almost perfect" not in text


def test_text_uses_singular_and_one_name_for_the_mean(write_file, capsys):
    text = run_command(capsys, write_file(format_csv(ROWS[:2])))
    assert text.startswith("1 item, 2 raters, 2 ratings; 1 item with two or more ratings")
    text = run_command(capsys, write_file(format_csv(ROWS)))
    assert "  observed agreement 0.500, by chance" in text
    assert "the most that these margins allow" in text
    assert "mean_pairwise_kappa " in text
    assert "light_kappa" not in text


def test_constant_rater_and_two_items_have_no_impossible_interval(write_file, capsys):
    rows = [(str(item), "ann", "3") for item in range(5)]
    rows += [(str(item), "bob", "4" if item == 4 else "3") for item in range(5)]
    out = run_command(capsys, write_file(format_csv(rows)), "--scale", "nominal")
    assert "-0.000" not in out
    (line,) = [line for line in out.splitlines() if line.startswith("cohen_kappa ")]
    assert line.split(maxsplit=2)[1:] == ["0.000", "no interval: a rater used a single category"]
    rows = [("1", "ann", "a"), ("1", "bob", "a"), ("2", "ann", "a"), ("2", "bob", "b")]
    out = run_command(capsys, write_file(format_csv(rows)))
    limits = [
        line.split("[")[1].split("]")[0].split(", ") for line in out.splitlines() if "[" in line
    ]
    assert limits and all(-1 <= float(low) < float(high) <= 1 for low, high in limits)


def build_clustered_rows():
    """Return rows of 12 documents of 10 items; in each third one two raters disagree."""
    rows = []
    for number in range(120):
        document, label = number // 10, "ab"[number % 2]
        other = "ab"[number % 3 == 0] if document % 3 == 0 else label
        for rater, answer in (("ann", label), ("bob", other)):
            rows.append((f"i{number}", rater, answer, f"d{document}"))
    return rows


def test_intervals_by_cluster(write_file, capsys):
    path = write_file(format_csv(build_clustered_rows(), "item,rater,label,document"))
    plain = json.loads(run_command(capsys, path, "--json"))
    options = ("--cluster", "document")
    wide = json.loads(run_command(capsys, path, "--json", *options))
    assert plain["cluster"] is None
    cluster = wide["cluster"]
    assert (cluster["attribute"], cluster["n_clusters"], cluster["n_items"]) == (
        "document",
        12,
        120,
    )
    assert cluster["design_effect"] > 2
    assert cluster["reliable"]
    for name in ("fleiss_kappa", "cohen_kappa", "gwet_ac1", "krippendorff_alpha_nominal"):
        assert wide[name] == plain[name]
        assert wide[f"{name}.ci_low"] == plain[f"{name}.ci_low"]
        assert wide[f"{name}.low"] < plain[f"{name}.low"] - 0.03
        assert plain[f"{name}.high"] < wide[f"{name}.high"] < 1
    assert wide["headline"]["low"] == pytest.approx(wide["cohen_kappa.low"], abs=0.02)
    text = run_command(capsys, path, *options, "--pair", "ann,bob")
    assert "items with the same document are alike: 120 items in 12 clusters (design effect" in text
    assert "no interval can be relied on" not in text
    few = [row for row in build_clustered_rows() if row[3] in {"d0", "d1"}]
    path = write_file(format_csv(few, "item,rater,label,document"))
    assert "with fewer than 6 clusters no interval can be relied on" in run_command(
        capsys, path, *options
    )


def test_clusters_of_one_item_change_nothing(write_file, capsys):
    rows = [(*row[:3], row[0]) for row in build_clustered_rows()]
    path = write_file(format_csv(rows, "item,rater,label,own"))
    plain, own = (
        json.loads(run_command(capsys, path, "--json", *options))
        for options in ((), ("--cluster", "own"))
    )
    changed = {name for name in plain if plain[name] != own[name]} - {"cluster", "understood"}
    assert changed <= {"headline", "people", "policies"}  # with a design effect of 1
    assert own["headline"] == plain["headline"] | {"design_effect": 1}


def test_cluster_of_a_wide_table(write_file, capsys):
    rows = build_clustered_rows()
    wide = [
        (first[0], first[3], first[2], second[2])
        for first, second in zip(rows[::2], rows[1::2], strict=True)
    ]
    path = write_file(format_csv(wide, "item,document,ann,bob"))
    answer = json.loads(run_command(capsys, path, "--cluster", "document", "--json"))
    assert (answer["raters"], answer["cluster"]["n_clusters"]) == (["ann", "bob"], 12)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("documnet", "there is no column 'documnet'; one of item, rater, label, document"),
        ("rater", "the column 'rater' has another role"),
        ("document", "Line 3: The item 'i0' has two values of 'document': 'd0' and 'd9'"),
    ],
)
def test_errors_of_clusters(column, message, write_file):
    rows = build_clustered_rows()
    rows[1] = (*rows[1][:3], "d9")
    path = write_file(format_csv(rows, "item,rater,label,document"))
    with pytest.raises(CommandError, match=message):
        call_command("agreement", path, "--cluster", column)


def test_command_starts_without_the_site(write_file, tmp_path):
    program = (
        "import sys, manage\n"
        f"sys.argv = ['manage.py', 'agreement', {write_file(format_csv(ROWS))!r}]\n"
        "manage.main()\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}))\n"
    )
    environment = {name: text for name, text in os.environ.items() if "DJANGO" not in name}
    environment |= {"DATA_DIR": str(tmp_path), "PYTHONPATH": str(settings.BASE_DIR)}
    answer = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    report, modules = answer.stdout.strip().rsplit("\n", 1)
    assert "2 raters, 5 ratings" in report
    assert {"quality", "redis", "rest_framework", "psycopg"}.isdisjoint(ast.literal_eval(modules))
