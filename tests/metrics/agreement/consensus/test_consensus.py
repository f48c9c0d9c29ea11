"""Labels from several raters: majority, Dawid and Skene's model, calibration; against slow versions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from metrics.agreement import consensus

EXAMPLES = settings(max_examples=40, deadline=None)


@st.composite
def ratings(draw, k=None):
    """Rows of item, rater, code, and k; some cells of items x raters missing."""
    k = k or draw(st.integers(2, 4))
    cells = [(item, rater) for item in range(6) for rater in range(4)]
    chosen = draw(st.lists(st.sampled_from(cells), unique=True, min_size=1))
    rows = [(item, rater, draw(st.integers(0, k - 1))) for item, rater in chosen]
    return np.array(rows), k


def columns(rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Item, rater, code (M,) of rows."""
    item, rater, code = np.asarray(rows).T
    return item, rater, code


def fitted(rows, k, **options):
    return consensus.fit_dawid_skene(*columns(rows), k, **options)


def made(n_items, n_raters, k, *, each=4, right=0.75, seed=0):
    """Rows and truth of raters who err alike."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n_items)
    rows = []
    for item in range(n_items):
        for rater in rng.choice(n_raters, each, replace=False):
            says = truth[item] if rng.random() < right else rng.integers(0, k)
            rows.append((item, rater, says))
    return np.array(rows), truth


def slow_round(rows, k, posterior, *, prior=10.0, diagonal=0.7, classes=1.0):
    """One round with dictionaries: posterior {item: [T]} -> the next, and the parameters."""
    p = [classes] * k
    for shares in posterior.values():
        p = [have + share for have, share in zip(p, shares, strict=True)]
    p = [share / sum(p) for share in p]
    pi = {}
    for rater in {row[1] for row in rows}:
        table = [
            [prior * (diagonal if j == code else (1 - diagonal) / (k - 1)) for code in range(k)]
            for j in range(k)
        ]
        for item, who, code in rows:
            if who == rater:
                for j in range(k):
                    table[j][code] += posterior[item][j]
        pi[rater] = [[cell / sum(row) for cell in row] for row in table]
    following = {}
    for item in posterior:
        products = list(p)
        for other, rater, code in rows:
            if other == item:
                products = [products[j] * pi[rater][j][code] for j in range(k)]
        following[item] = [product / sum(products) for product in products]
    return following, p, pi


def beginning(rows, k):
    found = {}
    for item in {row[0] for row in rows}:
        codes = [row[2] for row in rows if row[0] == item]
        found[item] = [codes.count(j) / len(codes) for j in range(k)]
    return found


def has_pairs(rows):
    items = rows[:, 0].tolist()
    return len(set(rows[:, 1].tolist())) > 1 and len(set(items)) < len(items)


@EXAMPLES
@given(ratings())
def test_three_rounds_are_those_with_dictionaries(given_ratings):
    rows, k = given_ratings
    found = fitted(rows, k, rounds=3, tolerance=0)
    if not has_pairs(rows):
        assert found.reason == "no_pairable_items"
        assert found.expected_errors is None
        return
    plain = rows.tolist()
    posterior = beginning(plain, k)
    for _ in range(3):
        posterior, _, _ = slow_round(plain, k, posterior)
    _, p, pi = slow_round(plain, k, posterior)
    for place, item in enumerate(found.items.tolist()):
        assert found.posterior[place] == pytest.approx(posterior[item], abs=1e-9)
    assert found.classes == pytest.approx(p)
    for place, rater in enumerate(found.raters.tolist()):
        assert found.confusion[place] == pytest.approx(np.array(pi[rater]), abs=1e-9)


def log_posterior(rows, k, p, pi):
    """Of the parameters, by the definition."""
    b = [[7.0 if j == code else 3 / (k - 1) for code in range(k)] for j in range(k)]
    total = sum(math.log(share) for share in p)
    for table in pi.values():
        total += sum(b[j][c] * math.log(table[j][c]) for j in range(k) for c in range(k))
    for item in {row[0] for row in rows}:
        product = list(p)
        for other, rater, code in rows:
            if other == item:
                product = [product[j] * pi[rater][j][code] for j in range(k)]
        total += math.log(sum(product))
    return total


@EXAMPLES
@given(ratings())
def test_the_log_posterior_rises_in_every_round_and_is_the_definitions(given_ratings):
    rows, k = given_ratings
    found = fitted(rows, k, tolerance=1e-9)
    if found.reason:
        return
    steps = np.diff(found.log_posterior)
    assert (steps >= -1e-9).all()
    plain = rows.tolist()
    _, p, pi = slow_round(plain, k, beginning(plain, k))
    assert found.log_posterior[0] == pytest.approx(log_posterior(plain, k, p, pi))


@EXAMPLES
@given(ratings())
def test_with_known_items_it_rises_too(given_ratings):
    rows, k = given_ratings
    found = fitted(rows, k, tolerance=1e-9, fixed=([0, 3, 99], [1, 0, 1]))
    if found.reason:
        return
    assert (np.diff(found.log_posterior) >= -1e-9).all()
    for item, code in ((0, 1), (3, 0)):
        if item in found.items:
            assert found.posterior[found.items == item][0, code] == 1


@EXAMPLES
@given(ratings(), st.randoms())
def test_order_of_rows_and_names_do_not_matter(given_ratings, random):
    rows, k = given_ratings
    shuffled = rows.copy()
    random.shuffle(order := list(range(len(rows))))
    shuffled = rows[order]
    renamed = shuffled.copy()
    renamed[:, 0] = 1000 - 7 * shuffled[:, 0]
    renamed[:, 1] = 50 - 3 * shuffled[:, 1]
    one, other = fitted(rows, k), fitted(renamed, k)
    assert one.reason == other.reason
    if one.reason is None:
        assert one.posterior == pytest.approx(other.posterior[::-1], abs=1e-5)
        assert one.confusion == pytest.approx(other.confusion[::-1], abs=1e-5)


@EXAMPLES
@given(ratings(k=3), st.permutations(range(3)))
def test_renaming_categories_renames_the_answer(given_ratings, names):
    rows, k = given_ratings
    renamed = rows.copy()
    renamed[:, 2] = np.array(names)[rows[:, 2]]
    one, other = fitted(rows, k), fitted(renamed, k)
    if one.reason is None:
        assert one.posterior == pytest.approx(other.posterior[:, names], abs=1e-5)
        assert one.classes == pytest.approx(other.classes[list(names)], abs=1e-5)
        assert one.confusion == pytest.approx(other.confusion[:, names][:, :, names], abs=1e-5)


def test_the_labels_of_good_raters_are_the_truth_and_errors_are_as_expected():
    rows, truth = made(400, 12, 4, each=5, right=0.7)
    found = fitted(rows, 4)
    wrong = (consensus.posterior_modes(found.posterior) != truth).sum()
    assert found.converged
    assert wrong == pytest.approx(found.expected_errors, abs=4 * math.sqrt(found.expected_errors))
    assert found.accuracy == pytest.approx(np.full(12, 0.775), abs=0.12)
    assert found.expected.sum() == pytest.approx(len(rows))


def test_one_category_only_is_certain_as_it_falls_out():
    rows = np.array([(item, rater, 1) for item in range(5) for rater in range(3)])
    found = fitted(rows, 3)
    assert (consensus.posterior_modes(found.posterior) == 1).all()
    assert (found.certainty > 0.9).all() and (found.certainty < 1).all()


def test_nobody_to_compare_has_no_model_but_a_majority():
    alone = np.array([(0, 7, 1), (1, 7, 0)])
    apart = np.array([(0, 1, 1), (1, 2, 0)])
    for rows in (alone, apart, np.zeros((0, 3), int)):
        assert fitted(rows, 2).reason == "no_pairable_items"
        assert (
            consensus.majority_vote(rows[:, 0], rows[:, 2], 2).code.tolist() == rows[:, 2].tolist()
        )


def test_a_warm_start_ends_where_the_cold_one_does():
    rows, _ = made(200, 8, 3)
    cold = fitted(rows, 3, tolerance=1e-10)
    for start in (cold.posterior, cold.start()):
        warm = fitted(rows, 3, tolerance=1e-10, start=start)
        assert warm.rounds < cold.rounds / 2
        assert warm.posterior == pytest.approx(cold.posterior, abs=1e-8)
    # with a rater whom the earlier fit does not know
    more = np.concatenate([rows, [(item, 99, 0) for item in range(20)]])
    one, other = fitted(more, 3, start=cold.start()), fitted(more, 3)
    assert one.posterior == pytest.approx(other.posterior, abs=1e-4)
    with pytest.raises(ValueError, match="200 x 3"):
        fitted(rows, 3, start=np.ones((2, 3)))


def test_changed_items_are_judged_by_the_stored_model():
    rows, _ = made(100, 6, 3)
    found = fitted(rows, 3, tolerance=1e-12)
    some = rows[rows[:, 0] < 10]
    items, posterior = consensus.compute_posteriors(*columns(some), found.start())
    assert items.tolist() == list(range(10))
    assert posterior == pytest.approx(found.posterior[:10], abs=1e-8)


def test_maximum_likelihood_has_no_pseudo_counts():
    rows, _ = made(50, 3, 2, each=3)
    found = consensus.fit_dawid_skene_ml(*columns(rows), 2, tolerance=1e-10)
    counts = np.zeros((3, 2, 2))
    for item, rater, code in rows:
        counts[rater, :, code] += found.posterior[item]
    assert found.confusion == pytest.approx(counts / counts.sum(axis=2, keepdims=True))
    assert found.classes == pytest.approx(found.posterior.mean(axis=0))


def test_bad_input_is_refused():
    for code, k, message in (([2], 2, "code 2 at position 0"), ([0], 1, "two categories")):
        with pytest.raises(ValueError, match=message):
            consensus.fit_dawid_skene([0], [0], code, k)
    with pytest.raises(ValueError, match="prior"):
        consensus.fit_dawid_skene([0], [0], [0], 2, prior=-1)


# --- votes


@EXAMPLES
@given(ratings())
def test_the_majority_is_the_single_most_frequent(given_ratings):
    rows, k = given_ratings
    found = consensus.majority_vote(rows[:, 0], rows[:, 2], k)
    for item, code, share in zip(found.items, found.code, found.share, strict=True):
        counts = np.bincount(rows[rows[:, 0] == item, 2], minlength=k)
        first = np.flatnonzero(counts == counts.max())
        assert code == (first[0] if first.size == 1 else consensus.TIED)
        assert share == pytest.approx(counts.max() / counts.sum())


@EXAMPLES
@given(ratings())
def test_weighted_votes_weigh_what_the_others_say_of_the_rater(given_ratings):
    rows, k = given_ratings
    judged: dict[int, int] = {}
    right: dict[int, float] = {}
    for item, rater, code in rows.tolist():
        others = [row[2] for row in rows.tolist() if row[0] == item and row[1] != rater]
        if others:
            counts = np.bincount(others, minlength=k)
            leading = np.flatnonzero(counts == counts.max()).tolist()
            judged[rater] = judged.get(rater, 0) + 1
            right[rater] = right.get(rater, 0) + (code in leading) / len(leading)
    found = consensus.weighted_majority_vote(*columns(rows), k)
    for item, code in zip(found.items, found.code, strict=True):
        votes = np.zeros(k)
        for _, rater, said in rows[rows[:, 0] == item].tolist():
            a = (right.get(rater, 0) + 7) / (judged.get(rater, 0) + 10)
            votes[said] += math.log((k - 1) * a / (1 - a))
        first = np.flatnonzero(votes >= votes.max() - 1e-9)
        assert code == (first[0] if first.size == 1 else consensus.TIED)


def test_who_disagrees_with_all_loses_weight():
    """Two good raters against three who answer at random."""
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 3, 300)
    rows = []
    for place in range(300):
        rows += [(place, who, truth[place]) for who in range(2)]
        rows += [(place, who, rng.integers(0, 3)) for who in range(2, 5)]
    item, rater, code = columns(rows)
    plain = consensus.majority_vote(item, code, 3).code
    weighted = consensus.weighted_majority_vote(item, rater, code, 3).code
    assert (weighted != truth).sum() < (plain != truth).sum() / 4


# --- what follows from posteriors


def test_labels_of_posteriors():
    t = [[0.5, 0.1, 0.4], [0.4, 0.4, 0.2], [0.02, 0.97, 0.01], [0.2, 0.3, 0.5]]
    assert consensus.posterior_modes(t).tolist() == [0, consensus.TIED, 1, 2]
    assert consensus.posterior_medians(t).tolist() == [0, 1, 1, 1]
    assert consensus.posterior_means(t) == pytest.approx([1.9, 1.8, 1.99, 2.3])
    assert consensus.posterior_means(t, [0, 0, 1]) == pytest.approx([0.4, 0.2, 0.01, 0.5])
    sets = consensus.credible_label_sets(t)
    assert sets.tolist() == [[True] * 3, [True] * 3, [False, True, False], [True] * 3]
    assert consensus.credible_label_sets(t, 0.8).tolist()[:2] == [
        [True, False, True],
        [True, True, False],
    ]
    soft = consensus.temper(t, 0.5)
    assert soft.sum(axis=1) == pytest.approx(1)
    assert soft[2, 1] < 0.97


@EXAMPLES
@given(st.integers(2, 4), st.integers(1, 4), st.randoms(use_true_random=False))
def test_information_is_the_entropy_that_a_rating_takes_away(k, raters, random):
    rng = np.random.default_rng(random.randrange(2**32))
    t, pi = rng.dirichlet(np.ones(k), 3), rng.dirichlet(np.ones(k), (raters, k))
    found = consensus.expected_information(t, pi)
    for i in range(3):
        for g in range(raters):
            said = t[i] @ pi[g]
            after = [t[i] * pi[g][:, code] / said[code] for code in range(k)]
            left = sum(said[code] * special.entr(after[code]).sum() for code in range(k))
            assert found[i, g] == pytest.approx(special.entr(t[i]).sum() - left, abs=1e-10)


def test_certainty_after_is_what_simulated_ratings_give():
    p, pi = np.array([0.5, 0.3, 0.2]), np.array([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]])
    assert consensus.expected_certainty(p, pi, 0) == pytest.approx(0.5)
    assert consensus.expected_certainty(p, pi, 1) == pytest.approx(
        (p[:, None] * pi).max(axis=0).sum()
    )
    rng = np.random.default_rng(2)
    truth = rng.choice(3, 20_000, p=p)
    said = np.array([rng.choice(3, 3, p=pi[j]) for j in truth])
    joint = p * np.prod(pi[:, said].transpose(1, 0, 2), axis=2)
    certainty = (joint / joint.sum(axis=1, keepdims=True)).max(axis=1).mean()
    assert consensus.expected_certainty(p, pi, 3) == pytest.approx(certainty, abs=0.005)


# --- calibration


def test_predictions_of_the_model_itself_need_no_tempering():
    rows, _ = made(1500, 15, 3, each=5, right=0.6)
    found = consensus.calibrate(*columns(rows), 3)
    assert found.n == 1500
    assert found.tau in (1.0, 0.8)
    for one in found.bins:
        if one.n > 100:
            assert one.said == pytest.approx(one.predicted, abs=4 * math.sqrt(0.25 / one.n))
    assert sum(one.n for one in found.bins) == 3 * 1500


def test_raters_who_err_alike_are_tempered():
    """Half of the items are hard, and on these every rater is right by half a chance only."""
    rng = np.random.default_rng(4)
    rows = []
    for item in range(600):
        truth, looks = rng.integers(0, 3, 2)
        hard = rng.random() < 0.5
        for rater in range(9):
            true = rng.random() < (0.5 if hard else 0.9)
            rows.append((item, rater, truth if true else looks))
    found = consensus.calibrate(*columns(rows), 3)
    assert found.tau < 1
    assert found.gain is not None and found.gain_se is not None
    assert found.gain > 2 * found.gain_se


def test_what_is_held_out_does_not_depend_on_the_order():
    rows, _ = made(300, 9, 3, each=3)
    rows = rows[(rows[:, 0] > 20) | (rows[:, 1] > 4)]  # some items have fewer than three
    one = consensus.calibrate(*columns(rows), 3)
    other = consensus.calibrate(*columns(rows[::-1]), 3)
    assert one.n == other.n < 300
    assert one.log_loss == pytest.approx(other.log_loss, abs=1e-6)


def test_nothing_to_hold_out():
    assert (
        consensus.calibrate([0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 1, 1], 2).reason == "too_few_items"
    )
    assert consensus.calibrate([], [], [], 2).reason == "no_pairable_items"


def test_a_hundred_thousand_raters_of_two_ratings_each() -> None:
    rng = np.random.default_rng(3)
    rater = np.repeat(np.arange(100_000), 2)
    item = rng.integers(0, 40_000, rater.size)
    code = np.where(rng.random(rater.size) < 0.8, item % 4, rng.integers(0, 4, rater.size))
    _said, once = np.unique(item * 100_000 + rater, return_index=True)
    found = consensus.fit_dawid_skene(item[once], rater[once], code[once], 4)
    assert found.reason is None
    assert found.converged
    for numbers in (found.posterior, found.confusion, found.classes, found.accuracy):
        assert np.isfinite(numbers).all()
    right = consensus.posterior_modes(found.posterior) == found.items % 4
    assert right.mean() > 0.9
