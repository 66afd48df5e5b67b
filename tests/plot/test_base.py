"""What the displays share."""

import subprocess
import sys

from mercer.plot._base import COLOURS, MARKERS, colours


def test_matplotlib_is_imported_only_to_draw():
    code = "import sys, mercer.plot; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_each_colour_has_a_marker():
    assert len(set(COLOURS)) == len(COLOURS) == len(set(MARKERS)) == len(MARKERS)


def test_colours_beyond_the_palette():
    assert colours(3) == list(COLOURS[:3])
    assert len({tuple(c) for c in colours(20)}) == 20
