"""``mercer warmup``: compile everything once."""

from __future__ import annotations

import mercer

from ..compilation import steps
from ._output import Output, command


@command(examples=["mercer warmup", "NUMBA_CACHE_DIR=compiled mercer warmup"])
def warmup(output: Output) -> int:
    """Compile all of Mercer's compiled functions, once.

    Otherwise each function is compiled on first use. Run this after installation, or when building a container.
    """
    with output.progress("compiling", len(steps())) as advance:
        done = mercer.warmup(lambda title, count, total: count and advance())
    output.result |= {
        "seconds": done.seconds,
        "functions": done.functions,
        "compiled": done.compiled,
        "loaded": done.loaded,
        "folders": [str(folder) for folder in done.folders],
    }
    versions = f"{done.compiled} versions compiled, {done.loaded} found on disk"
    output.say(f"{done.functions} functions in {done.seconds:.1f} s: {versions}")
    for folder in done.folders:
        output.say(f"compiled code: {folder}")
    if not done.folders:
        output.note("no cache folder is writable; every process compiles anew. Set NUMBA_CACHE_DIR to a writable one")
    return 0
