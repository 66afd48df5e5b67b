"""Tables on disk, and two ways to run a command: within this process, or as a process of its own."""

import json
import subprocess
import sys
from inspect import signature
from types import SimpleNamespace

import numpy as np
import pytest

click_testing = pytest.importorskip("click.testing")
pytest.importorskip("rich")
pytest.importorskip("pandas")

N = 120
# before click 8.2 a runner mixes the two streams unless it is told not to
SEPARATE = {"mix_stderr": False} if "mix_stderr" in signature(click_testing.CliRunner).parameters else {}


def shop_text(n=N, seed=0):
    """Rows of a table with numbers, categories, dates, gaps and columns of no use; and its targets."""
    rng = np.random.default_rng(seed)
    age, income = rng.normal(40, 10, n).round(1), rng.lognormal(8, 1, n).round(2)
    city = rng.choice(["Bern", "Oslo", "Rome, It"], n)
    days = np.datetime64("2020-01-01") + rng.integers(0, 1000, n)
    z = (age - 40) / 10
    bought = np.where(z**2 + 2.0 * (city == "Bern") > 1.2, "yes", "no")
    price = (np.sin(z) + 0.5 * np.log(income) + (city == "Oslo")).round(4)
    ages = [("" if i % 17 == 0 else str(a)) for i, a in enumerate(age)]
    quoted = [f'"{c}"' if "," in c else c for c in city]
    head = "id,age,income,city,since,empty,const,bought,price"
    rows = zip(ages, income, quoted, days, bought, price, strict=True)
    return "\n".join([head, *(f"p{i},{a},{m},{c},{d},,1,{b},{p}" for i, (a, m, c, d, b, p) in enumerate(rows))]) + "\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.csv").write_text(shop_text(), encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="session")
def shop_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "shop.csv"
    path.write_text(shop_text(), encoding="utf-8")
    return path


@pytest.fixture
def shop():
    return shop_text


@pytest.fixture(scope="session")
def mercer():
    """`mercer("fit", …)` runs a command here; the result has code, out, err, and `json` where that was asked for.

    A report, which takes its time, is only written where a test says where to.
    """
    from mercer.cli.app import app

    def run(*arguments):
        if arguments[:1] == ("fit",) and not {"--report", "--help"} & set(arguments):
            arguments = (*arguments, "--no-report")
        done = click_testing.CliRunner(**SEPARATE).invoke(app, [str(a) for a in arguments], prog_name="mercer")
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return answer(done.exit_code, done.stdout, done.stderr, arguments)

    return run


@pytest.fixture
def process():
    """The same as a process of its own."""

    def run(*arguments, **options):
        command = [sys.executable, "-m", "mercer.cli", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, **options)
        return answer(done.returncode, done.stdout, done.stderr, arguments)

    return run


def answer(code, out, err, arguments):
    content = json.loads(out) if "--json" in arguments and out.startswith("{") else None
    return SimpleNamespace(code=code, out=out, err=err, json=content)
