"""``mercer two-sample`` and ``mercer independence``: hypothesis tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from ._columns import DataError, unknown_column
from ._data import RENUMBER, Data, read, require_dense, stem
from ._output import Finite, Output, command
from .choose import axes, picture_place, save_picture
from .fit import categories_option, data_options, encoding_option, listed, names, say_left_out, shortened

level = click.option("--level", type=Finite(0, 1, min_open=True, max_open=True), default=0.05,
                     show_default=True, help="Significance level: maximum false alarm rate.")  # fmt: skip
most = click.option(
    "--rows", type=click.IntRange(4), default=5000, show_default=True, help="Use at most this many random rows."
)


@command("two-sample", examples=["mercer two-sample january.csv february.csv"])
@click.argument("first", type=click.Path())
@click.argument("second", type=click.Path())
@click.option("--kernel", "-k", help="A single kernel, instead of several combined.")
@click.option("--picture", type=click.Path(), help="Plot of where the samples differ.  [default: FIRST.witness.png]")
@level
@most
@data_options
def two_sample(
    output: Output,
    first: str,
    second: str,
    kernel: str | None,
    picture: str | None,
    level: float,
    rows: int,
    encoding: str | None,
    drop: str | None,
    categories: str | None,
) -> None:
    """Test whether two files come from the same distribution.

    Uses the maximum mean discrepancy; the level is exact at every sample size.
    """
    from mercer.inference import mmd_test

    image = picture_place(output, picture, f"{stem(first)}.witness.png", [first, second])
    whole = [read(path, encoding) for path in (first, second)]
    counters = _counters(whole)
    parts = [_some(output, part, path, rows) for part, path in zip(whole, (first, second), strict=True)]
    output.result["rows"] = [part.X.shape[0] for part in parts]
    output.say(f"{first}: {parts[0].X.shape[0]} rows, {second}: {parts[1].X.shape[0]} rows")
    X, chosen, sizes = _together(output, parts, (first, second), kernel, counters, names(drop), names(categories))
    result = mmd_test(X[: sizes[0]], X[sizes[0] :], kernel=chosen, random_state=0)
    verdict = "the samples differ" if result.p_value <= level else "no difference is shown"
    _say(output, result, level, verdict)
    if image is None:
        return
    from mercer.plot import WitnessDisplay

    labels = (Path(first).name, Path(second).name)
    display = WitnessDisplay.from_test(result, labels=labels, ax=axes((6.4, 4.2)))
    save_picture(output, display, image)


@command(examples=["mercer independence houses.csv --x price --y area,street"])
@click.argument("data", type=click.Path())
@click.option("--x", "left", required=True, help="Columns, separated by commas.")
@click.option("--y", "right", required=True, help="The other columns.")
@level
@most
@categories_option
@encoding_option
def independence(
    output: Output,
    data: str,
    left: str,
    right: str,
    level: float,
    rows: int,
    encoding: str | None,
    categories: str | None,
) -> None:
    """Test whether some columns depend on others.

    Uses the Hilbert-Schmidt independence criterion; the level is exact at every sample size.
    """
    from mercer.inference import hsic_test

    content = _some(output, read(data, encoding), data, rows)
    if not content.is_table:
        raise DataError(f"{data} is a matrix; independence needs a table with named columns.")
    twice = set(names(left)) & set(names(right))
    if twice:
        raise DataError(f"{min(twice)!r} is on both sides; a column depends on itself.")
    output.result["rows"] = content.X.shape[0]
    output.say(f"{data}: {content.X.shape[0]} rows, {left} against {right}")
    both = [_part(output, content, data, names(side), names(categories)) for side in (left, right)]
    (X, kernel), (Y, kernel_y) = both
    result = hsic_test(X, Y, kernel=kernel, kernel_y=kernel_y, random_state=0)
    verdict = "they depend on each other" if result.p_value <= level else "no dependence is shown"
    _say(output, result, level, verdict)


def _say(output: Output, result: Any, level: float, verdict: str) -> None:
    kernels = result.kernel if isinstance(result.kernel, tuple) else (result.kernel,)
    output.result |= {
        "statistic": result.statistic, "p_value": result.p_value, "method": result.method, "level": level,
        "rejected": bool(result.p_value <= level), "verdict": verdict, "kernels": [shortened(k, 200) for k in kernels],
    }  # fmt: skip
    output.say(f"{result.method}: {result.statistic:.4g}, p = {result.p_value:.3g}")
    output.say(f"at level {level:g}: {verdict}")


def _some(output: Output, content: Data, path: str, rows: int) -> Data:
    """At most `rows` random rows."""
    n = content.X.shape[0]
    if n <= rows:
        return content
    output.note(f"using {rows} random rows of the {n} in {path}")
    part = np.sort(np.random.default_rng(0).choice(n, rows, replace=False))
    X = content.X.iloc[part].reset_index(drop=True) if content.is_table else content.X[part]
    return Data(X, None, content.note)


def _counters(parts: list[Data]) -> list[str]:
    """Columns that count the rows of each file; they differ whenever the sizes do."""
    from ._sample import counts_rows

    if not all(part.is_table for part in parts):
        return []
    shared = [name for name in parts[0].X.columns if name in parts[1].X.columns]
    return [name for name in shared if all(counts_rows(part.X[name]) for part in parts)]


def _together(
    output: Output, parts: list[Data], paths: Any, text: str | None, counters: Any, drop: Any, categories: Any
) -> Any:
    """The pooled sample, the kernel, and the sizes of both samples."""
    from scipy import sparse

    from ._guess import choose_kernel
    from ._sample import prepare

    sizes = [part.X.shape[0] for part in parts]
    if parts[0].is_table != parts[1].is_table:
        raise DataError(f"{paths[0]} and {paths[1]} must both be tables or both be matrices.")
    if parts[0].is_table:
        import pandas

        different = set(parts[0].X.columns) ^ set(parts[1].X.columns)
        if different:
            raise DataError(f"{paths[0]} and {paths[1]} do not both have {listed(map(repr, sorted(different)))}.")
        whole = Data(pandas.concat([part.X for part in parts], ignore_index=True), None, "")
    else:
        shapes = [part.X.shape[1] for part in parts]
        if len(set(shapes)) > 1:
            raise DataError(f"{paths[0]} has {shapes[0]} columns, but {paths[1]} has {shapes[1]}.")
        for part, path in zip(parts, paths, strict=True):
            require_dense(part.X, path, RENUMBER)
        dense = [part.X.toarray() if sparse.issparse(part.X) else part.X for part in parts]
        whole = Data(np.concatenate(dense), None, "")
    sample = prepare(whole, paths[0], None, None, (*drop, *counters), categories, supervised=False)
    sample.left_out.update({name: "counts the rows of each file" for name in counters if name not in drop})
    say_left_out(output, sample)
    scaler, kernel, _ = choose_kernel(sample, text)
    if scaler is None:
        return sample.X, kernel, sizes
    single = sample.is_matrix and sample.X.shape[1] == 1  # unscaled, so that the plot shows its unit
    Z = sample.X if single and text is None else scaler.fit_transform(sample.X)
    return Z, "aggregate" if text is None else kernel, sizes


def _part(output: Output, content: Data, path: str, columns: tuple[str, ...], categories: tuple[str, ...]) -> Any:
    """Columns of one side, and their kernel."""
    from ._guess import choose_kernel
    from ._sample import prepare

    if not columns:
        raise DataError("--x and --y each need at least one column.")
    lacking = [name for name in columns if name not in content.X.columns]
    if lacking:
        raise unknown_column(path, lacking[0], content.X.columns)
    part = Data(content.X[list(columns)], None, "")
    sample = prepare(part, path, None, None, (), tuple(c for c in categories if c in columns), supervised=False)
    say_left_out(output, sample)
    scaler, kernel, _ = choose_kernel(sample, None)
    return (sample.X, kernel) if scaler is None else (scaler.fit_transform(sample.X), "aggregate")
