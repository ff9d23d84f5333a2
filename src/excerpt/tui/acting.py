"""Who does the action of a binding, and why it cannot be done now: asked by keys, footer, help and palette alike."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, runtime_checkable

from textual.actions import parse
from textual.dom import DOMNode


@runtime_checkable
class Reasoned(Protocol):
    """A widget that can say why it would not do something."""

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str:
        """One sentence; "" where the action can be done."""


@runtime_checkable
class Waiting(Protocol):
    """A widget whose actions may come before what they are about."""

    def is_early(self, action: str) -> bool:
        """Whether what the action is about is still on its way."""

    def wait_with(self, act: Callable[[], Awaitable[object]]) -> None:
        """Act as soon as it is there."""


def doer(node: DOMNode, action: str) -> tuple[DOMNode, str, tuple[object, ...]]:
    """The widget that does an action bound at `node`, with the action's name and parameters: the pane around it where
    the action is the pane's."""
    target, name, parameters = parse(action)
    if target == "app":
        return node.app, name, parameters
    if target == "screen":
        return node.screen or node.app, name, parameters
    if name == "pane" and parameters and isinstance(parameters[0], str):
        inner = parse(parameters[0])
        for around in node.ancestors:
            if isinstance(around, Reasoned) and hasattr(around, f"action_{inner[1]}"):
                return around, inner[1], inner[2]
    return node, name, parameters


def why_not(node: DOMNode, action: str) -> str:
    """Why an action bound at `node` cannot be done now; "" where it can, and where its keys are another's now."""
    target, name, parameters = doer(node, action)
    if not isinstance(target, Reasoned) or not target.check_action(name, parameters):
        return ""
    return target.why_not(name, parameters)
