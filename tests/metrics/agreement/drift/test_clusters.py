"""Alerts on items in documents: who misreads documents has not changed."""

import numpy as np
import pytest

from metrics.agreement import detect_alerted_raters, drift
from metrics.agreement.drift import UNDATED
from metrics.agreement.drift.comparisons import MAX_CLUSTER_DAYS, move_to_last_days

N_RATERS, N_DAYS, CHANGE_DAY, K = 8, 70, 35, 4


def simulate_documents(seed, *, size, days, lapse=0.0):
    """Return columns item, rater, code and day, and the document of each rating's item.

    Three raters rate a document; each misreads one in seven, so that most of the answers there are
    wrong. Rater 0 guesses with the probability `lapse` from CHANGE_DAY on.
    """
    rng = np.random.default_rng(seed)
    n_documents = 2_400 // size
    first_day = np.sort(rng.integers(N_DAYS - days, size=n_documents))
    rows = []
    for document in range(n_documents):
        team = rng.choice(N_RATERS, size=3, replace=False)
        misreads = rng.random(3) < 1 / 7
        for position in range(size):
            day = int(first_day[document]) + position * days // size
            truth, answers = int(rng.integers(K)), {}
            for rater, misread in zip(team.tolist(), misreads, strict=True):
                error = 0.8 if misread else 0.15
                if rater == 0 and day >= CHANGE_DAY:
                    error = max(error, lapse)
                answers[rater] = int(rng.integers(K)) if rng.random() < error else truth
            item = document * size + position
            rows += [(item, rater, code, day, document) for rater, code in answers.items()]
    *columns, documents = np.array(rows, np.int64).T
    return columns, documents


def name(columns, documents):
    return detect_alerted_raters(*columns, categories=K, ordered=False, clusters=documents)


@pytest.mark.parametrize(("size", "days"), [(10, 1), (30, 5), (100, 10)])
def test_who_misreads_documents_is_not_named(size, days):
    streams = [simulate_documents(seed, size=size, days=days) for seed in range(4)]
    assert [name(columns, documents) for columns, documents in streams] == [set()] * 4


def test_without_clusters_innocents_are_named():
    """The streams are tempting: their documents last for days, and look like a change."""
    streams = [simulate_documents(seed, size=100, days=10) for seed in range(4)]
    assert sum(bool(name(columns, None)) for columns, _documents in streams) >= 2


def test_a_drift_is_named_across_documents():
    streams = [simulate_documents(seed, size=10, days=1, lapse=0.9) for seed in range(4)]
    assert [name(columns, documents) for columns, documents in streams] == [{0}] * 4


def test_a_pair_with_one_common_document_is_no_copy():
    """All items of 0 and 1 together are one document, which both read alike."""
    columns, documents = simulate_documents(5, size=10, days=1)
    item, rater, code, day = columns
    is_pair = np.isin(rater, [0, 1])
    both = np.intersect1d(item[rater == 0], item[rater == 1])
    assert both.size >= 30
    in_both = np.isin(item, both)
    code = np.where(in_both & is_pair, item % K, code)
    copies = [item, rater, code, day]
    assert {0, 1} <= name(copies, documents)
    assert name(copies, np.where(in_both, 10**6, documents)) == set()


def test_clusters_of_one_item_change_nothing():
    columns, _documents = simulate_documents(1, size=10, days=1, lapse=0.9)
    item, rater, code, day = columns
    results = [
        drift.detect_drift(
            item, rater, code, day, K, ordered=False, context=drift.DriftContext(clusters=clusters)
        ).alerts
        for clusters in (None, item)
    ]
    assert results[0] == results[1]
    assert name(columns, item) == name(columns, None)


def test_ratings_of_a_cluster_count_on_its_last_day():
    rater = np.array([0, 0, 0, 1, 1, 0, 0])
    cluster = np.array([7, 7, 9, 7, 7, 9, 7])
    day = np.array([3, 5, 4, 1, UNDATED, 6, MAX_CLUSTER_DAYS + 3])
    moved = move_to_last_days(rater, cluster, day)
    assert moved.tolist() == [5, 5, 6, 1, UNDATED, 6, MAX_CLUSTER_DAYS + 3]
    empty = np.zeros(0, np.int64)
    assert move_to_last_days(empty, empty, empty).size == 0
