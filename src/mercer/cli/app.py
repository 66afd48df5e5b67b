"""The command group ``mercer``."""

from __future__ import annotations

from typing import Any

import click

import mercer

from . import choose, convert, explore, fit, hypotheses, lectures, predict, warmup
from ._output import say_error

JSON = "mercer.json"  # whether --json was given, known before the arguments are parsed


class _Commands(click.Group):
    """Commands in the order in which they were added; with --json, usage errors are also printed as JSON."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[JSON] = "--json" in args
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            if ctx.meta[JSON]:
                say_error(error.format_message())
            raise


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="mercer COMMAND --help shows options and examples.",
)
@click.version_option(mercer.__version__, prog_name="mercer")
def app() -> None:
    """Kernel methods from the command line: from a file to a tuned, explained and saved model."""


for made in (
    *(fit.fit, predict.predict, predict.info, choose.compare, choose.grid),
    *(explore.kpca, explore.cluster, explore.outliers, hypotheses.two_sample, hypotheses.independence),
    *(convert.convert, lectures.reproduce, lectures.demo, warmup.warmup),
):
    app.add_command(made)
