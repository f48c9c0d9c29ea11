"""The order that labels have on their scale."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings.imports.values.label_order import guess_order

# Labels from lowest to highest, as people write them.
ORDERED = {
    "words": "low|medium|high",
    "short words": "Low|Med|High",
    "percents": "0%|5%|25%|50%|100%",
    "ranges": "<18|18-24|25-34|65+",
    "numbers before words": "1 - awful|2|3|10 - perfect",
    "numbers after a word": "Grade 1|Grade 2|Grade 10",
    "numbers at the end": "very bad = 1|so so = 2|very good = 10",
    "letter and number": "L1|L2|L10",
    "stars": "1 star|3 stars|5 stars",
    "subdivisions": "BI-RADS 2|BI-RADS 3|BI-RADS 4a|BI-RADS 4b",
    "negative numbers": "-2|-1|0|+1|+2",
    "decimals": "2.5|3|10",
    "roman numerals": "I|II|III|IV|V",
    "stages": "Stage 0|Stage I|Stage IIa|Stage IIb|Stage IV",
    "grades": "F|D|C|B|A",
    "german grades": "1+|1|1-|2+|2|3-|4",
    "german yes and no": "nein|eher nein|teils teils|eher ja|ja",
    "grades with signs": "C|B-|B|B+|A-",
    "signs": "--|-|0|+|++",
    "signs of stars": "★|★★|★★★★",
    "degrees": "not toxic|slightly toxic|toxic|very toxic|extremely toxic",
    "german degrees": "nicht hilfreich|etwas hilfreich|sehr hilfreich",
    "short sentiment": "neg|neu|pos",
    "staining": "0|1+|2+|3+",
    "likert": "Strongly disagree|Disagree|Neither agree nor disagree|Agree|Strongly agree",
    "likert of seven": "strongly disagree|disagree|somewhat disagree|neutral|somewhat agree|agree"
    "|strongly agree",
    "underscores": "strongly_disagree|disagree|neutral|agree|strongly_agree",
    "camel case": "Disagree|Neutral|Agree|StronglyAgree",
    "frequency": "Never|Rarely|Sometimes|Often|Always",
    "satisfaction": "Very dissatisfied|Dissatisfied|Neutral|Satisfied|Very satisfied",
    "quality": "Very poor|Poor|Fair|Good|Very good|Excellent",
    "severity": "none|mild|moderate|severe",
    "german likert": "stimme überhaupt nicht zu|stimme nicht zu|teils/teils|stimme zu"
    "|stimme voll und ganz zu",
    "german applies": "Trifft nicht zu|Trifft eher nicht zu|Trifft eher zu|Trifft zu",
    "german frequency": "nie|selten|manchmal|oft|immer",
    "german levels": "niedrig|mittel|hoch",
    "german marks": "mangelhaft|ausreichend|befriedigend|gut|sehr gut",
    "french likert": "Pas du tout d'accord|Plutôt pas d'accord|Ni d'accord, ni pas d'accord"
    "|Plutôt d'accord|Tout à fait d'accord",
    "french frequency": "jamais|rarement|parfois|souvent|toujours",
    "french levels": "faible|moyen|élevé",
    "spanish likert": "Totalmente en desacuerdo|En desacuerdo|Ni de acuerdo ni en desacuerdo"
    "|De acuerdo|Totalmente de acuerdo",
    "spanish frequency": "nunca|a veces|siempre",
    "spanish levels": "bajo|medio|alto",
    "chinese likert": "非常不同意|不同意|一般|同意|非常同意",
    "chinese frequency": "从不|很少|有时|经常|总是",
    "chinese levels": "低|中|高",
    "degrees of negation": "very unlikely|not very likely|likely|very likely",
    "chinese degrees of negation": "完全不相关|不太相关|比较相关|非常相关",
    "words that all labels share": "no harm|low harm|moderate harm|high harm",
    "ordinals before a word": "first quartile|second quartile|third quartile|fourth quartile",
    "ranges of hours": "<1 h|1-2 h|3-5 h|>5 h",
    "expectations": "Does not meet|Partially meets|Meets|Exceeds",
    "german number words": "eins|zwei|drei",
    "chinese satisfaction": "非常不满意|不满意|一般|满意|非常满意",
}


@pytest.mark.parametrize("case", ORDERED)
def test_order_of_labels_with_an_order(case: str) -> None:
    labels = ORDERED[case].split("|")
    shuffled = random.Random(case).sample(labels, len(labels))
    order = guess_order(shuffled)
    assert order.labels == labels
    assert order.scale == "ordinal"
    assert order.basis != "alphabet"


@pytest.mark.parametrize(
    "labels",
    [
        "A|B|C",
        "bird|cat|dog",
        "B2B|B2C|C2C",
        "contradiction|entailment|neutral",
        "c|d|i",
        "a1b|c2|x",
    ],
)
def test_labels_without_a_known_order_are_nominal(labels: str) -> None:
    order = guess_order(labels.split("|"))
    assert (order.labels, order.scale, order.basis) == (labels.split("|"), "nominal", "alphabet")


def test_numbers_that_only_tell_names_apart_give_no_scale() -> None:
    order = guess_order(["topic 10", "topic 2", "topic 1"])
    assert order.labels == ["topic 1", "topic 2", "topic 10"]
    assert order.scale == "nominal"


def test_two_labels_are_nominal() -> None:
    assert guess_order(["yes", "no"])[:2] == (["no", "yes"], "nominal")


@given(
    st.lists(st.integers(-99, 99), min_size=3, max_size=9, unique=True),
    st.sampled_from(["{}", "{}%", "{} points", "level {}", "{} - word"]),
)
def test_any_numbers_in_one_frame_have_their_order(numbers: list[int], frame: str) -> None:
    # A sign behind a word is a hyphen.
    numbers = [abs(number) for number in numbers] if frame.startswith("level") else numbers
    labels = [frame.format(number) for number in sorted(set(numbers))]
    assert guess_order(reversed(labels)).labels == labels


@given(st.lists(st.text(min_size=1, max_size=12), max_size=9, unique=True))
def test_every_label_is_in_the_order_once(labels: list[str]) -> None:
    order = guess_order(labels)
    assert sorted(order.labels) == sorted(labels)
    assert order == guess_order(reversed(labels))


@pytest.mark.parametrize(
    ("labels", "is_open"),
    [
        ("1|2|3", True),
        ("0,5|1,0|1,5", True),
        ("A1|A2|A3", True),
        ("1. Depression|2. Neurosis|3. Other", True),
        ("1|2", False),
        ("1 - poor|2 - fair|3 - good", False),
        ("1 (worst)|2|3 (best)", False),
        ("Grade 1|Grade 2|Grade 3", False),
        ("0%|5%|100%", False),
        ("low|medium|high", False),
        ("cat|dog|owl", False),
    ],
)
def test_only_a_person_knows_the_scale_of_numbers_and_numbered_names(
    labels: str, is_open: bool
) -> None:
    assert guess_order(labels.split("|")).is_scale_open is is_open
