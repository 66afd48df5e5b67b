"""Ranking measures against their definitions, and against scikit-learn's for the same one under another name."""

import numpy as np
import pytest
from sklearn.metrics import label_ranking_average_precision_score

from mercer.selection.retrieval import mean_average_precision, mean_reciprocal_rank

rng = np.random.default_rng(0)
S = rng.normal(size=(20, 30))
R = rng.uniform(size=(20, 30)) < 0.2
R[:, 0] |= ~R.any(axis=1)


@pytest.mark.parametrize("similarity", [S, S.round()], ids=["distinct", "ties"])
def test_average_precision_equals_scikit_learn(similarity) -> None:
    assert mean_average_precision(similarity, R) == pytest.approx(label_ranking_average_precision_score(R, similarity))


def test_by_walking_down_the_ranking() -> None:
    reciprocal, precision = [], []
    for s, r in zip(S, R, strict=True):
        hits = np.flatnonzero(r[np.argsort(-s)]) + 1
        reciprocal.append(1 / hits[0])
        precision.append(np.mean(np.arange(1, len(hits) + 1) / hits))
    assert mean_reciprocal_rank(S, R) == pytest.approx(np.mean(reciprocal))
    assert mean_average_precision(S, R) == pytest.approx(np.mean(precision))


def test_one_answer_for_each_query() -> None:
    T = S[:, :20]
    assert mean_reciprocal_rank(T) == pytest.approx(mean_average_precision(T))
    assert mean_reciprocal_rank(np.eye(4)) == 1
    assert mean_reciprocal_rank(np.zeros((4, 4))) == 0.25  # ties gain nothing


def test_queries_without_an_answer_are_left_out() -> None:
    relevant = R.copy()
    relevant[3:] = False
    assert mean_average_precision(S, relevant) == pytest.approx(mean_average_precision(S[:3], R[:3]))


@pytest.mark.parametrize(
    ("similarity", "relevant", "message"),
    [
        (S, None, "not square"),
        (S, R[:, :4], "they must agree"),
        (S, np.zeros_like(R), "no candidate"),
        (S[0], None, "n_queries, n_candidates"),
        (np.full((2, 2), np.nan), None, "NaN"),
    ],
)
def test_bad_input_is_explained(similarity, relevant, message) -> None:
    for measure in (mean_reciprocal_rank, mean_average_precision):
        with pytest.raises(ValueError, match=message):
            measure(similarity, relevant)
