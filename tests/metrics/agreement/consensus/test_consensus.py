"""Tests of labels from several raters against slow versions: votes, Dawid-Skene, calibration."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from metrics.agreement import consensus
from metrics.agreement.consensus import calibration as calibration_rules

EXAMPLES = settings(max_examples=40, deadline=None)


@st.composite
def ratings(draw, k=None):
    """Draw rows of item, rater, code, and k; some cells of items x raters are missing."""
    k = k or draw(st.integers(2, 4))
    cells = [(item, rater) for item in range(6) for rater in range(4)]
    rated_cells = draw(st.lists(st.sampled_from(cells), unique=True, min_size=1))
    rows = [(item, rater, draw(st.integers(0, k - 1))) for item, rater in rated_cells]
    return np.array(rows), k


def split_columns(rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return item, rater and code (M,) of rows."""
    item, rater, code = np.asarray(rows).T
    return item, rater, code


def fit_model(rows, k, **options):
    return consensus.fit_dawid_skene(*split_columns(rows), k, **options)


def simulate_ratings(n_items, n_raters, k, *, per_item=4, right=0.75, seed=0):
    """Return rows and truth of raters who are equally often right."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n_items)
    rows = []
    for item in range(n_items):
        for rater in rng.choice(n_raters, per_item, replace=False):
            code = truth[item] if rng.random() < right else rng.integers(0, k)
            rows.append((item, rater, code))
    return np.array(rows), truth


def compute_round_slowly(rows, k, posterior, *, prior=10.0, diagonal=0.7, classes=1.0):
    """Run one round with dictionaries: posterior {item: [T]} -> the next, and the parameters."""
    p = [classes] * k
    for shares in posterior.values():
        p = [total + share for total, share in zip(p, shares, strict=True)]
    p = [share / sum(p) for share in p]
    pi = {}
    for rater in {row[1] for row in rows}:
        table = [
            [prior * (diagonal if j == code else (1 - diagonal) / (k - 1)) for code in range(k)]
            for j in range(k)
        ]
        for item, table_rater, code in rows:
            if table_rater == rater:
                for j in range(k):
                    table[j][code] += posterior[item][j]
        pi[rater] = [[cell / sum(row) for cell in row] for row in table]
    next_posterior = {}
    for item in posterior:
        products = list(p)
        for other, rater, code in rows:
            if other == item:
                products = [products[j] * pi[rater][j][code] for j in range(k)]
        next_posterior[item] = [product / sum(products) for product in products]
    return next_posterior, p, pi


def compute_start(rows, k):
    """Return the shares of each category by item."""
    share_by_item = {}
    for item in {row[0] for row in rows}:
        codes = [row[2] for row in rows if row[0] == item]
        share_by_item[item] = [codes.count(j) / len(codes) for j in range(k)]
    return share_by_item


def has_pairs(rows):
    items = rows[:, 0].tolist()
    return len(set(rows[:, 1].tolist())) > 1 and len(set(items)) < len(items)


@EXAMPLES
@given(ratings())
def test_three_rounds_match_dictionary_version(given_ratings):
    rows, k = given_ratings
    fit = fit_model(rows, k, rounds=3, tolerance=0)
    if not has_pairs(rows):
        assert fit.reason == "no_pairable_items"
        assert fit.expected_errors is None
        return
    row_lists = rows.tolist()
    posterior = compute_start(row_lists, k)
    for _ in range(3):
        posterior, _, _ = compute_round_slowly(row_lists, k, posterior)
    _, p, pi = compute_round_slowly(row_lists, k, posterior)
    for index, item in enumerate(fit.items.tolist()):
        assert fit.posterior[index] == pytest.approx(posterior[item], abs=1e-9)
    assert fit.classes == pytest.approx(p)
    for index, rater in enumerate(fit.raters.tolist()):
        assert fit.confusion[index] == pytest.approx(np.array(pi[rater]), abs=1e-9)


def compute_log_posterior(rows, k, p, pi):
    """Return the log posterior of the parameters by the definition."""
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
def test_log_posterior_rises_and_matches_the_definition(given_ratings):
    rows, k = given_ratings
    fit = fit_model(rows, k, tolerance=1e-9)
    if fit.reason:
        return
    steps = np.diff(fit.log_posterior)
    assert (steps >= -1e-9).all()
    row_lists = rows.tolist()
    _, p, pi = compute_round_slowly(row_lists, k, compute_start(row_lists, k))
    assert fit.log_posterior[0] == pytest.approx(compute_log_posterior(row_lists, k, p, pi))


@EXAMPLES
@given(ratings())
def test_log_posterior_rises_with_fixed_items(given_ratings):
    rows, k = given_ratings
    fit = fit_model(rows, k, tolerance=1e-9, fixed=([0, 3, 99], [1, 0, 1]))
    if fit.reason:
        return
    assert (np.diff(fit.log_posterior) >= -1e-9).all()
    for item, code in ((0, 1), (3, 0)):
        if item in fit.items:
            assert fit.posterior[fit.items == item][0, code] == 1


@EXAMPLES
@given(ratings(), st.randoms())
def test_order_and_names_of_rows_do_not_matter(given_ratings, random):
    rows, k = given_ratings
    shuffled = rows.copy()
    random.shuffle(order := list(range(len(rows))))
    shuffled = rows[order]
    renamed = shuffled.copy()
    renamed[:, 0] = 1000 - 7 * shuffled[:, 0]
    renamed[:, 1] = 50 - 3 * shuffled[:, 1]
    original_fit, renamed_fit = fit_model(rows, k), fit_model(renamed, k)
    assert original_fit.reason == renamed_fit.reason
    if original_fit.reason is None:
        assert original_fit.posterior == pytest.approx(renamed_fit.posterior[::-1], abs=1e-5)
        assert original_fit.confusion == pytest.approx(renamed_fit.confusion[::-1], abs=1e-5)


@EXAMPLES
@given(ratings(k=3), st.permutations(range(3)))
def test_renaming_categories_permutes_the_result(given_ratings, names):
    rows, k = given_ratings
    renamed = rows.copy()
    renamed[:, 2] = np.array(names)[rows[:, 2]]
    original_fit, renamed_fit = fit_model(rows, k), fit_model(renamed, k)
    if original_fit.reason is None:
        assert original_fit.posterior == pytest.approx(renamed_fit.posterior[:, names], abs=1e-5)
        assert original_fit.classes == pytest.approx(renamed_fit.classes[list(names)], abs=1e-5)
        assert original_fit.confusion == pytest.approx(
            renamed_fit.confusion[:, names][:, :, names], abs=1e-5
        )


def test_labels_of_good_raters_have_the_expected_errors():
    rows, truth = simulate_ratings(400, 12, 4, per_item=5, right=0.7)
    fit = fit_model(rows, 4)
    n_errors = (consensus.posterior_modes(fit.posterior) != truth).sum()
    assert fit.converged
    assert n_errors == pytest.approx(fit.expected_errors, abs=4 * math.sqrt(fit.expected_errors))
    assert fit.accuracy == pytest.approx(np.full(12, 0.775), abs=0.12)
    assert fit.expected_counts.sum() == pytest.approx(len(rows))


def test_single_category_has_high_confidence_below_one():
    rows = np.array([(item, rater, 1) for item in range(5) for rater in range(3)])
    fit = fit_model(rows, 3)
    assert (consensus.posterior_modes(fit.posterior) == 1).all()
    assert (fit.confidence > 0.9).all() and (fit.confidence < 1).all()


def test_ratings_without_pairs_have_majority_but_no_model():
    single_rater = np.array([(0, 7, 1), (1, 7, 0)])
    disjoint_items = np.array([(0, 1, 1), (1, 2, 0)])
    for rows in (single_rater, disjoint_items, np.zeros((0, 3), int)):
        assert fit_model(rows, 2).reason == "no_pairable_items"
        assert (
            consensus.majority_vote(rows[:, 0], rows[:, 2], 2).code.tolist() == rows[:, 2].tolist()
        )


def test_warm_start_reaches_the_same_fit_as_cold_start():
    rows, _ = simulate_ratings(200, 8, 3)
    cold = fit_model(rows, 3, tolerance=1e-10)
    for start in (cold.posterior, cold.get_starting_values()):
        warm = fit_model(rows, 3, tolerance=1e-10, start=start)
        assert warm.rounds < cold.rounds / 2
        assert warm.posterior == pytest.approx(cold.posterior, abs=1e-8)
    # with a rater who was not in the earlier fit
    extended_rows = np.concatenate([rows, [(item, 99, 0) for item in range(20)]])
    warm_extended, cold_extended = (
        fit_model(extended_rows, 3, start=cold.get_starting_values()),
        fit_model(extended_rows, 3),
    )
    assert warm_extended.posterior == pytest.approx(cold_extended.posterior, abs=1e-4)
    with pytest.raises(ValueError, match="200 x 3"):
        fit_model(rows, 3, start=np.ones((2, 3)))


def test_stored_model_gives_posteriors_of_changed_items():
    rows, _ = simulate_ratings(100, 6, 3)
    fit = fit_model(rows, 3, tolerance=1e-12)
    changed_rows = rows[rows[:, 0] < 10]
    items, posterior = consensus.compute_posterior_from_fit(
        *split_columns(changed_rows), fit.get_starting_values()
    )
    assert items.tolist() == list(range(10))
    assert posterior == pytest.approx(fit.posterior[:10], abs=1e-8)


def test_maximum_likelihood_has_no_pseudo_counts():
    rows, _ = simulate_ratings(50, 3, 2, per_item=3)
    fit = consensus.fit_dawid_skene_ml(*split_columns(rows), 2, tolerance=1e-10)
    counts = np.zeros((3, 2, 2))
    for item, rater, code in rows:
        counts[rater, :, code] += fit.posterior[item]
    assert fit.confusion == pytest.approx(counts / counts.sum(axis=2, keepdims=True))
    assert fit.classes == pytest.approx(fit.posterior.mean(axis=0))


def test_invalid_input_raises_an_error():
    for code, k, message in (([2], 2, "code 2 at position 0"), ([0], 1, "two categories")):
        with pytest.raises(ValueError, match=message):
            consensus.fit_dawid_skene([0], [0], code, k)
    with pytest.raises(ValueError, match="prior"):
        consensus.fit_dawid_skene([0], [0], [0], 2, prior=-1)


# --- votes


@EXAMPLES
@given(ratings())
def test_majority_is_the_single_most_frequent_category(given_ratings):
    rows, k = given_ratings
    votes = consensus.majority_vote(rows[:, 0], rows[:, 2], k)
    for item, code, share in zip(votes.items, votes.code, votes.share, strict=True):
        counts = np.bincount(rows[rows[:, 0] == item, 2], minlength=k)
        most_frequent = np.flatnonzero(counts == counts.max())
        assert code == (most_frequent[0] if most_frequent.size == 1 else consensus.TIED)
        assert share == pytest.approx(counts.max() / counts.sum())


@EXAMPLES
@given(ratings())
def test_weighted_votes_use_agreement_with_other_raters(given_ratings):
    rows, k = given_ratings
    n_compared: dict[int, int] = {}
    n_right: dict[int, float] = {}
    for item, rater, code in rows.tolist():
        others = [row[2] for row in rows.tolist() if row[0] == item and row[1] != rater]
        if others:
            counts = np.bincount(others, minlength=k)
            leading = np.flatnonzero(counts == counts.max()).tolist()
            n_compared[rater] = n_compared.get(rater, 0) + 1
            n_right[rater] = n_right.get(rater, 0) + (code in leading) / len(leading)
    result = consensus.weighted_majority_vote(*split_columns(rows), k)
    for item, code in zip(result.items, result.code, strict=True):
        votes = np.zeros(k)
        for _, rater, category in rows[rows[:, 0] == item].tolist():
            accuracy = (n_right.get(rater, 0) + 7) / (n_compared.get(rater, 0) + 10)
            votes[category] += math.log((k - 1) * accuracy / (1 - accuracy))
        heaviest = np.flatnonzero(votes >= votes.max() - 1e-9)
        assert code == (heaviest[0] if heaviest.size == 1 else consensus.TIED)


def test_rater_who_disagrees_with_all_loses_weight():
    """Two good raters against three who answer at random."""
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 3, 300)
    rows = []
    for item_index in range(300):
        rows += [(item_index, rater_index, truth[item_index]) for rater_index in range(2)]
        rows += [(item_index, rater_index, rng.integers(0, 3)) for rater_index in range(2, 5)]
    item, rater, code = split_columns(rows)
    plain = consensus.majority_vote(item, code, 3).code
    weighted = consensus.weighted_majority_vote(item, rater, code, 3).code
    assert (weighted != truth).sum() < (plain != truth).sum() / 4


# --- labels derived from posteriors


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
    soft = consensus.raise_to_power(t, 0.5)
    assert soft.sum(axis=1) == pytest.approx(1)
    assert soft[2, 1] < 0.97


@EXAMPLES
@given(st.integers(2, 4), st.integers(1, 4), st.randoms(use_true_random=False))
def test_information_is_the_entropy_removed_by_a_rating(k, raters, random):
    rng = np.random.default_rng(random.randrange(2**32))
    t, pi = rng.dirichlet(np.ones(k), 3), rng.dirichlet(np.ones(k), (raters, k))
    bits = consensus.expected_information(t, pi)
    for i in range(3):
        for g in range(raters):
            predicted = t[i] @ pi[g]
            after = [t[i] * pi[g][:, code] / predicted[code] for code in range(k)]
            remaining_entropy = sum(
                predicted[code] * special.entr(after[code]).sum() for code in range(k)
            )
            assert bits[i, g] == pytest.approx(
                special.entr(t[i]).sum() - remaining_entropy, abs=1e-10
            )


def test_expected_confidence_matches_simulated_ratings():
    p, pi = np.array([0.5, 0.3, 0.2]), np.array([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]])
    assert consensus.expected_confidence(p, pi, 0) == pytest.approx(0.5)
    assert consensus.expected_confidence(p, pi, 1) == pytest.approx(
        (p[:, None] * pi).max(axis=0).sum()
    )
    rng = np.random.default_rng(2)
    truth = rng.choice(3, 20_000, p=p)
    simulated_codes = np.array([rng.choice(3, 3, p=pi[j]) for j in truth])
    joint = p * np.prod(pi[:, simulated_codes].transpose(1, 0, 2), axis=2)
    confidence = (joint / joint.sum(axis=1, keepdims=True)).max(axis=1).mean()
    assert consensus.expected_confidence(p, pi, 3) == pytest.approx(confidence, abs=0.005)


# --- calibration


def test_model_predictions_on_its_own_data_need_no_tempering():
    rows, _ = simulate_ratings(1500, 15, 3, per_item=5, right=0.6)
    calibration = consensus.calibrate(*split_columns(rows), 3)
    assert calibration.n == 1500
    assert calibration.tau in (1.0, 0.8)
    for calibration_bin in calibration.bins:
        if calibration_bin.n > 100:
            assert calibration_bin.observed == pytest.approx(
                calibration_bin.predicted, abs=4 * math.sqrt(0.25 / calibration_bin.n)
            )
    assert sum(calibration_bin.n for calibration_bin in calibration.bins) == 3 * 1500


def test_correlated_errors_are_tempered():
    """Half of the items are hard, and on these each rater is right only half of the time."""
    rng = np.random.default_rng(4)
    rows = []
    for item in range(600):
        truth, lookalike = rng.integers(0, 3, 2)
        hard = rng.random() < 0.5
        for rater in range(9):
            is_right = rng.random() < (0.5 if hard else 0.9)
            rows.append((item, rater, truth if is_right else lookalike))
    calibration = consensus.calibrate(*split_columns(rows), 3)
    assert calibration.tau < 1
    assert calibration.gain is not None and calibration.gain_se is not None
    assert calibration.gain > 2 * calibration.gain_se


def simulate_shared_errors(n_items, seed):
    """Return rows and truth: on three of ten items all raters tend to the same wrong category."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n_items)
    rows = []
    for item in range(n_items):
        share, wrong = (0.4 if rng.random() < 0.3 else 0.9), (truth[item] + rng.integers(1, 3)) % 3
        for rater in range(15):
            rows.append((item, rater, truth[item] if rng.random() < share else wrong))
    return np.array(rows), truth


def test_gold_answers_calibrate_errors_that_all_raters_share():
    """Calibrated on 100 items, 19 in 20 of the certain labels of the other 500 are right.

    The expected errors are of the right size; before, they were one twentieth of it.
    """
    rows, truth = simulate_shared_errors(600, seed=7)
    gold = np.arange(100), truth[:100]
    calibration = consensus.calibrate_on_gold(*split_columns(rows), 3, gold=gold)
    assert calibration is not None
    posterior = fit_model(rows, 3).posterior[100:]
    calibrated = calibration.apply(posterior)
    is_wrong = posterior.argmax(axis=1) != truth[100:]
    assert calibration.n == 100
    assert calibrated.sum(axis=1) == pytest.approx(1)
    assert (calibrated.argmax(axis=1) == posterior.argmax(axis=1)).all()
    assert is_wrong.mean() > 0.1 > 5 * (1 - posterior.max(axis=1)).mean()
    assert (1 - calibrated.max(axis=1)).mean() == pytest.approx(is_wrong.mean(), rel=0.5)
    certain = calibrated.max(axis=1) >= 0.95
    assert certain.sum() > 50
    assert is_wrong[certain].mean() <= 0.05


def test_items_that_mislead_all_raters_leave_no_label_certain():
    """In one of eight items all raters agree on a wrong category: nothing tells them apart."""
    rng = np.random.default_rng(8)
    truth = rng.integers(0, 3, 600)
    perceived = np.where(rng.random(600) < 1 / 8, (truth + 1) % 3, truth)
    rows = np.array([(item, rater, perceived[item]) for item in range(600) for rater in range(6)])
    gold = np.arange(200), truth[:200]
    calibration = consensus.calibrate_on_gold(*split_columns(rows), 3, gold=gold)
    posterior = fit_model(rows, 3).posterior[200:]
    assert posterior.max(axis=1).min() > 0.999
    assert calibration is not None
    confidence = calibration.apply(posterior).max(axis=1)
    assert confidence.max() < 0.95
    is_right = posterior.argmax(axis=1) == truth[200:]
    assert confidence.mean() == pytest.approx(is_right.mean(), abs=0.04)


def simulate_misleading_items(n_items, rng):
    """Return rows and truth: unanimous ratings of many raters mislead more often than those of few.

    One in eight of the items with 25 ratings has all of them in a wrong category. No function of
    confidence alone shows that, so that the most certain labels are not the best ones.
    """
    truth = rng.integers(0, 3, n_items)
    rows = []
    for item in range(n_items):
        n_raters, wrong = (25, 1 / 8) if item % 4 == 0 else (4, 0)
        is_misleading = rng.random() < wrong
        for rater in rng.permutation(30)[:n_raters]:
            is_wrong = is_misleading or (n_raters == 4 and rng.random() < 0.25)
            rows.append((item, rater, (truth[item] + is_wrong) % 3))
    return np.array(rows), truth


def test_certain_labels_are_as_often_right_as_promised():
    """Even here fewer than 95% of the labels certain to 0.95 are right on a quarter of the draws.

    That is the rate of the limit by gold answers; without it, it is so on many more draws.
    """
    n_gold = 100
    outcomes: dict[str, list[bool]] = {"limited": [], "unlimited": []}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows, truth = simulate_misleading_items(400, rng)
        posterior = fit_model(rows, 3).posterior
        is_right = posterior.argmax(axis=1) == truth
        for _draw in range(5):
            order = rng.permutation(400)
            gold = order[:n_gold], truth[order[:n_gold]]
            limited = consensus.calibrate_on_gold(*split_columns(rows), 3, gold=gold)
            assert limited is not None
            unlimited = dataclasses.replace(limited, levels=np.ones(1), limits=np.ones(1))
            for name, calibration in (("limited", limited), ("unlimited", unlimited)):
                certain = calibration.apply(posterior[order[n_gold:]]).max(axis=1) >= 0.95
                n_wrong = (~is_right[order[n_gold:]][certain]).sum()
                outcomes[name].append(bool(n_wrong > 0.05 * certain.sum()))
    assert np.mean(outcomes["limited"]) <= calibration_rules.FALSE_LEVEL_RATE
    assert np.mean(outcomes["unlimited"]) > 0.35


def test_correct_gold_answers_leave_the_labels_of_good_data_certain():
    """Four raters are right in 85% of 120 items, one in 50 misleads them all; 40 have gold answers.

    Most other labels have a confidence of 0.9 or more in 9 of 10 studies; of those certain to 0.95
    in all studies together, 95% are right.
    """
    shares, is_right = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 5, 120)
        perceived = np.where(rng.random(120) < 1 / 50, (truth + 1) % 5, truth)
        errors = (rng.random((120, 4)) < 0.15) * rng.integers(1, 5, (120, 4))
        codes = (perceived[:, None] + errors) % 5
        item, rater = (index.ravel() for index in np.indices((120, 4)))
        columns = item, rater, codes.ravel(), 5
        gold = np.arange(40), truth[:40]
        calibration = consensus.calibrate_on_gold(*columns, gold=gold)
        assert calibration is not None
        posterior = consensus.fit_dawid_skene(*columns, fixed=gold).posterior[40:]
        calibrated = calibration.apply(posterior)
        confidence = calibrated.max(axis=1)
        shares.append((confidence >= 0.9).mean())
        certain = confidence >= 0.95
        is_right += (calibrated.argmax(axis=1) == truth[40:])[certain].tolist()
    assert np.mean(np.array(shares) > 0.5) >= 0.9
    assert len(is_right) > 400
    assert np.mean(is_right) >= 0.95


def test_bound_is_the_largest_level_that_gold_answers_show():
    """Compared with the definition, level by level."""
    rate = calibration_rules.FALSE_LEVEL_RATE
    rng = np.random.default_rng(5)
    for n_gold in (5, 30, 60):
        probability = np.round(rng.random(n_gold), 2)
        is_right = rng.random(n_gold) < probability
        levels, limits = calibration_rules._limit_right_shares(probability, is_right)
        calibration = consensus.GoldCalibration(np.ones(24) / 24, 0.0, n_gold, levels, limits)
        grid = np.linspace(0, 1, 2001)
        is_shown = []
        for level in grid:
            x, n = is_right[probability >= level].sum(), (probability >= level).sum()
            is_shown.append(n > 0 and stats.beta.ppf(rate, x + 0.5, n - x + 0.5) >= level)
        for p in (*probability, 0.0, 0.999, 1.0):
            expected = max(grid[(grid <= p) & is_shown], default=0.0)
            assert calibration.bound([p])[0] == pytest.approx(expected, abs=6e-4)


def test_gold_answers_do_not_temper_independent_errors():
    rows, truth = simulate_ratings(800, 15, 3, per_item=5, right=0.6)
    gold = np.arange(400), truth[:400]
    calibration = consensus.calibrate_on_gold(*split_columns(rows), 3, gold=gold)
    assert calibration is not None
    assert calibration.tau > 0.7
    assert calibration.misleading < 0.05


def test_too_few_gold_answers_do_not_calibrate():
    """Items with one rating, without ratings, or whose category is decided do not count."""
    rows, truth = simulate_ratings(60, 6, 3)
    n_gold = consensus.MIN_GOLD_ITEMS
    columns, gold = split_columns(rows), (np.arange(n_gold), truth[:n_gold])
    assert consensus.calibrate_on_gold(*columns, 3, gold=gold) is not None
    assert consensus.calibrate_on_gold(*columns, 3, gold=(gold[0] + 31, gold[1])) is None
    assert consensus.calibrate_on_gold(*columns, 3, gold=gold, fixed=([0], [1])) is None
    is_extra_rating = (rows[:, 0] == 3) & (np.arange(len(rows)) != np.argmax(rows[:, 0] == 3))
    fewer = split_columns(rows[~is_extra_rating])
    assert consensus.calibrate_on_gold(*fewer, 3, gold=gold) is None


def test_held_out_ratings_do_not_depend_on_the_row_order():
    rows, _ = simulate_ratings(300, 9, 3, per_item=3)
    rows = rows[(rows[:, 0] > 20) | (rows[:, 1] > 4)]  # some items have fewer than three
    in_order = consensus.calibrate(*split_columns(rows), 3)
    in_reverse = consensus.calibrate(*split_columns(rows[::-1]), 3)
    assert in_order.n == in_reverse.n < 300
    assert in_order.log_loss == pytest.approx(in_reverse.log_loss, abs=1e-6)


def test_calibration_without_held_out_ratings_has_a_reason():
    assert (
        consensus.calibrate([0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 1, 1], 2).reason == "too_few_items"
    )
    assert consensus.calibrate([], [], [], 2).reason == "no_pairable_items"


def test_many_raters_with_two_ratings_each_converge() -> None:
    rng = np.random.default_rng(3)
    rater = np.repeat(np.arange(100_000), 2)
    item = rng.integers(0, 40_000, rater.size)
    code = np.where(rng.random(rater.size) < 0.8, item % 4, rng.integers(0, 4, rater.size))
    _keys, first_rows = np.unique(item * 100_000 + rater, return_index=True)
    fit = consensus.fit_dawid_skene(item[first_rows], rater[first_rows], code[first_rows], 4)
    assert fit.reason is None
    assert fit.converged
    for numbers in (fit.posterior, fit.confusion, fit.classes, fit.accuracy):
        assert np.isfinite(numbers).all()
    is_right = consensus.posterior_modes(fit.posterior) == fit.items % 4
    assert is_right.mean() > 0.9


@pytest.mark.parametrize("seed", range(3))
def test_fit_is_where_plain_rounds_end_also_where_they_are_slow(seed):
    """Raters who are often wrong: plain rounds move by less than 1e-6 long before the maximum.

    A fit of two rounds is plain, because extrapolation begins with the third.
    """
    rows, _ = simulate_ratings(80, 6, 3, per_item=2, right=0.35, seed=seed)
    fit = fit_model(rows, 3)
    assert fit.converged
    plain, n_plain_rounds, change = fit_model(rows, 3, rounds=2), 2, 1.0
    while change > 1e-12 and n_plain_rounds < 20_000:
        following = fit_model(rows, 3, rounds=2, start=plain.posterior)
        change = np.abs(following.posterior - plain.posterior).max()
        plain, n_plain_rounds = following, n_plain_rounds + 2
    np.testing.assert_allclose(fit.posterior, plain.posterior, atol=2e-6)
    assert fit.rounds < n_plain_rounds / 2
    assert np.diff(fit.log_posterior).min() > -1e-9
