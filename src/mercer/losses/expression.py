"""Text → loss: ``"pinball(quantile=0.3)"``, parsed as a syntax tree of names and literals, never evaluated."""

from __future__ import annotations

import ast
from difflib import get_close_matches
from inspect import signature
from typing import Any, NoReturn, TypeAlias

from ._base import Loss, registry

LossLike: TypeAlias = Loss | str  # anything that specifies a loss


def as_loss(loss: LossLike) -> Loss:
    """Convert a loss, its class, or its name with parameters to a loss with valid parameters.

    Parameters
    ----------
    loss : Loss, subclass of Loss, or str
        A string is a registered name in snake case, alone for the defaults or with parameters in parentheses.

    Examples
    --------
    >>> as_loss("pinball(quantile=0.3)")
    Pinball(quantile=0.3)
    >>> as_loss("huberr")
    Traceback (most recent call last):
        ...
    ValueError: loss = 'huberr' is unknown; did you mean 'huber'?
    """
    if isinstance(loss, str):
        loss = _parse(loss)
    elif isinstance(loss, type) and issubclass(loss, Loss):
        loss = _make(loss.__name__, loss, [], {})
    if not isinstance(loss, Loss):
        raise TypeError(f'loss = {loss!r} must be a Loss or a string such as "huber" or "pinball(quantile=0.3)".')
    loss.validate()
    return loss


def _parse(text: str) -> Loss:
    def fail(reason: str) -> NoReturn:
        raise ValueError(f"loss = {text!r} {reason}")

    form = 'is not a loss; write a name such as "huber", or a name with parameters such as "huber(delta=2)".'
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        fail(form)
    call = node if isinstance(node, ast.Call) else None
    name = call.func if call else node
    if not isinstance(name, ast.Name):
        fail(form)
    if name.id not in registry:
        near = get_close_matches(name.id, registry, n=1)
        remedy = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(registry)}."
        fail(f"is unknown; {remedy}")
    if not call:
        return _make(text, registry[name.id], [], {})
    if any(keyword.arg is None for keyword in call.keywords):
        fail(form)
    try:
        args = [ast.literal_eval(node) for node in call.args]
        kwargs = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    except ValueError:
        fail("has a parameter that is not a number or other literal; pass an instance of the class instead.")
    return _make(text, registry[name.id], args, kwargs)


def _make(text: str, cls: type[Loss], args: list[Any], kwargs: dict[str, Any]) -> Loss:
    try:
        signature(cls).bind(*args, **kwargs)
    except TypeError as error:
        names = ", ".join(signature(cls).parameters) or "none"
        raise ValueError(f"loss = {text!r}: {error}; its parameters are {names}.") from None
    return cls(*args, **kwargs)
