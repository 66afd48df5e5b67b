"""All commands under one name."""

from __future__ import annotations

import click

import mercer

from . import choose, convert, explore, fit, hypotheses, lectures, predict

__all__ = ["app"]


class _InOrder(click.Group):
    """Lists commands as they were added, not by the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(
    cls=_InOrder,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="mercer COMMAND --help shows options and examples.",
)
@click.version_option(mercer.__version__, prog_name="mercer")
def app() -> None:
    """Kernel methods from the command line: from a file to a tuned, explained and saved model."""


for module in (fit, predict, choose, explore, hypotheses, convert, lectures):
    module.register(app)
