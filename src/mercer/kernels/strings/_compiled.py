"""Compiled loops over the letters of strings.

Strings are concatenated: the a-th string of x is ``x[xs[a]:xs[a + 1]]``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._jit import njit, njit_reordered
from ...types import Array

LANES = 32  # strings compared with one string at once, so that inner loops vectorise
HIGH, LOW, LOG_HIGH = 1e100, 1e-100, 100 * np.log(10.0)
ONE, LAST = np.uint64(1), np.uint64(63)


@njit
def _automaton(y: Array, following: Any, length: Any, link: Any, count: Any) -> Any:
    """Build the suffix automaton of a string, letter by letter; return its number of states."""
    following[0, :] = -1
    length[0], link[0], count[0] = 0, -1, 0.0
    size, last = 1, 0
    for c in y:
        new = size
        size += 1
        following[new, :] = -1
        length[new], count[new] = length[last] + 1, 1.0
        p = last
        while p >= 0 and following[p, c] < 0:
            following[p, c] = new
            p = link[p]
        if p < 0:
            link[new] = 0
        else:
            q = following[p, c]
            if length[q] == length[p] + 1:
                link[new] = q
            else:
                copy = size
                size += 1
                following[copy, :] = following[q, :]
                length[copy], link[copy], count[copy] = length[p] + 1, link[q], 0.0
                while p >= 0 and following[p, c] == q:
                    following[p, c] = copy
                    p = link[p]
                link[q] = link[new] = copy
        last = new
    return size


@njit
def common_substrings(x: Array, xs: Array, y: Array, ys: Array, n_letters: int, total: Any, out: Array) -> None:
    """out[a, b] = Σ_s w(|s|) n_s n_s, where total[l] = w(1) + … + w(l)."""
    longest = np.max(np.diff(ys))
    states = 2 * longest + 1
    length, link = np.empty(states, np.int64), np.empty(states, np.int64)
    count, below = np.empty(states), np.empty(states)
    local = np.empty(n_letters, np.int64)
    for b in range(len(ys) - 1):
        local[:] = -1
        string = y[ys[b] : ys[b + 1]].copy()
        width = 0
        for i in range(len(string)):
            c = string[i]
            if local[c] < 0:
                local[c] = width
                width += 1
            string[i] = local[c]
        following = np.empty((2 * len(string) + 1, max(1, width)), np.int32)
        size = _automaton(string, following, length, link, count)
        order = np.argsort(length[:size])
        for k in range(size - 1, 0, -1):
            count[link[order[k]]] += count[order[k]]
        below[0] = 0.0  # for the suffixes shorter than all in the state
        for k in range(1, size):
            s = order[k]
            p = link[s]
            below[s] = 0.0 if p == 0 else below[p] + count[p] * (total[length[p]] - total[length[link[p]]])
        for a in range(len(xs) - 1):
            s, reach, value = 0, 0, 0.0
            for i in range(xs[a], xs[a + 1]):
                c = local[x[i]]
                if c < 0:
                    s, reach = 0, 0
                    continue
                while s > 0 and following[s, c] < 0:
                    s = link[s]
                    reach = length[s]
                s = following[s, c]
                reach += 1
                value += below[s] + count[s] * (total[reach] - total[length[link[s]]])
            out[a, b] = value


@njit
def common_subsequences(x: Array, xs: Array, y: Array, ys: Array, order: Any, n: int, decay: float, out: Array) -> None:
    """out[a, b] = Σ decay^(gaps in both) over common subsequences of n letters."""
    # near[p, j + 1] is the sum over common subsequences of p letters that end at or before x_i and y_j, times decay to
    # the distance from there; matching last letters are added to the total.
    for start in range(0, len(order), LANES):
        width = min(LANES, len(order) - start)
        longest = 0
        for k in range(width):
            b = order[start + k]
            longest = max(longest, ys[b + 1] - ys[b])
        letters = np.full((longest, LANES), -1, np.int64)  # matches no letter
        for k in range(width):
            b = order[start + k]
            for j in range(ys[b + 1] - ys[b]):
                letters[j, k] = y[ys[b] + j]
        near = np.ones((n, longest + 1, LANES))
        run, value = np.empty(LANES), np.empty(LANES)
        for a in range(len(xs) - 1):
            near[1:] = 0.0
            value[:] = 0.0
            for i in range(xs[a], xs[a + 1]):
                c = np.int64(x[i])
                for j in range(longest):
                    row, before = letters[j], near[n - 1, j]
                    for k in range(LANES):
                        value[k] += before[k] if row[k] == c else 0.0
                for p in range(n - 1, 0, -1):
                    run[:] = 0.0
                    for j in range(longest):
                        row, before, here = letters[j], near[p - 1, j], near[p, j + 1]
                        for k in range(LANES):
                            r = decay * run[k] + (before[k] if row[k] == c else 0.0)
                            run[k] = r
                            here[k] = decay * here[k] + r
            for k in range(width):
                out[a, order[start + k]] = value[k]


@njit
def local_alignments(
    x: Array, xs: Array, y: Array, ys: Array, weight: Array, opening: float, extension: float, out: Array
) -> None:
    """out[a, b] = log of the sum of weights of all local alignments; the table is scaled down when it grows large."""
    longest = np.max(np.diff(ys))
    matched, gap, any_end = np.empty(longest), np.empty(longest), np.empty(longest)
    for a in range(len(xs) - 1):
        for b in range(len(ys) - 1):
            m = ys[b + 1] - ys[b]
            matched[:m] = 0.0
            gap[:m] = 0.0
            any_end[:m] = 0.0
            unit, value, scale = 1.0, 1.0, 0.0
            for i in range(xs[a], xs[a + 1]):
                row = weight[x[i]]
                diagonal, match_left, gap_left, run = 0.0, 0.0, 0.0, 0.0
                for j in range(m):
                    match = row[y[ys[b] + j]] * (unit + diagonal)
                    skip = opening * matched[j] + extension * gap[j]
                    run = opening * (match_left + gap_left) + extension * run
                    diagonal = any_end[j]
                    matched[j], gap[j], any_end[j] = match, skip, match + skip + run
                    match_left, gap_left = match, skip
                    value += match
                while value > HIGH:
                    for j in range(m):
                        matched[j] *= LOW
                        gap[j] *= LOW
                        any_end[j] *= LOW
                    unit *= LOW
                    value *= LOW
                    scale += LOG_HIGH
            out[a, b] = np.log(value) + scale


@njit
def edit_distances(x: Array, xs: Array, y: Array, ys: Array, n_letters: int, out: Array) -> None:
    """out[a, b] = the edit distance, column by column; two words hold the vertical differences +1 and −1 as bits."""
    blocks = (np.max(np.diff(xs)) + 63) // 64
    places = np.zeros((n_letters, blocks), np.uint64)
    up, down = np.empty(blocks, np.uint64), np.empty(blocks, np.uint64)
    zero = np.uint64(0)
    for a in range(len(xs) - 1):
        n = xs[a + 1] - xs[a]
        for i in range(n):
            places[x[xs[a] + i], i // 64] |= ONE << np.uint64(i % 64)
        used = (n + 63) // 64
        final = np.uint64((n - 1) % 64)
        for b in range(len(ys) - 1):
            distance = n
            up[:used] = ~zero
            down[:used] = zero
            if n == 0:
                distance = ys[b + 1] - ys[b]
            else:
                for j in range(ys[b], ys[b + 1]):
                    rise, fall = ONE, zero
                    for k in range(used):
                        equal, p, q = places[y[j], k], up[k], down[k]
                        vertical = equal | q
                        equal |= fall
                        horizontal = (((equal & p) + p) ^ p) | equal
                        plus = q | ~(horizontal | p)
                        minus = p & horizontal
                        if k == used - 1:
                            distance += np.int64((plus >> final) & ONE) - np.int64((minus >> final) & ONE)
                        next_rise, next_fall = plus >> LAST, minus >> LAST
                        plus = (plus << ONE) | rise
                        minus = (minus << ONE) | fall
                        up[k] = minus | ~(vertical | plus)
                        down[k] = plus & vertical
                        rise, fall = next_rise, next_fall
            out[a, b] = distance
        for i in range(n):
            places[x[xs[a] + i], i // 64] = zero


@njit
def matches_in_place(x: Array, xs: Array, y: Array, ys: Array, total: Any, shift: int, out: Array) -> None:
    """out[a, b] = Σ (1 − |s|/(shift + 1)) Σ total[run] over the runs of equal letters x_i = y_{i+s}, up to a length."""
    longest = len(total) - 1
    for a in range(len(xs) - 1):
        for b in range(len(ys) - 1):
            n, m = xs[a + 1] - xs[a], ys[b + 1] - ys[b]
            value = 0.0
            for s in range(-shift, shift + 1):
                run, part = 0, 0.0
                for i in range(max(0, -s), min(n, m - s)):
                    run = min(run + 1, longest) if x[xs[a] + i] == y[ys[b] + i + s] else 0
                    part += total[run]
                value += (1 - abs(s) / (shift + 1)) * part
            out[a, b] = value


@njit_reordered
def near_words(x: Array, xs: Array, y: Array, ys: Array, classes: Any, k: int, weight: Array, out: Array) -> None:
    """out[a, b] = Σ weight[Σ classes] over the pairs of words with k letters; Σ classes is over the k letter pairs."""
    # The sums for words that end at x_i are those for words that end at x_{i−1}, shifted, with one pair of letters
    # added and one removed.
    for b in range(len(ys) - 1):
        m = ys[b + 1] - ys[b]
        row = np.zeros((len(classes), k + m), np.int32)  # for each letter, against y; k zeros in front
        for c in range(len(classes)):
            for j in range(m):
                row[c, k + j] = classes[c, y[ys[b] + j]]
        total = np.zeros((2, m + 1), np.int32)
        for a in range(len(xs) - 1):
            total[:] = 0
            value = 0.0
            for i in range(xs[a + 1] - xs[a]):
                before, here, coming = total[1 - i % 2], total[i % 2, 1:], row[x[xs[a] + i], k:]
                if i < k:
                    for j in range(m):
                        here[j] = before[j] + coming[j]
                else:
                    going = row[x[xs[a] + i - k]]
                    for j in range(m):
                        here[j] = before[j] + coming[j] - going[j]
                if i >= k - 1:
                    for j in range(k - 1, m):
                        value += weight[here[j]]
            out[a, b] = value
