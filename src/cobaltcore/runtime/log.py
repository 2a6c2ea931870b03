"""Structured logs: one constant event with values, as text or as JSON."""

import logging
import sys
from collections.abc import Mapping
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any, Literal

import structlog

Format = Literal["text", "json"]

_context: ContextVar[Mapping[str, object]] = ContextVar("log context", default={})  # noqa: B039 never changed


class Context:
    """Values that every message inside of a `with` block carries.

    Entered for every reconcile, most of which log nothing: values are formatted when needed.
    """

    __slots__ = ("_token", "_values")

    def __init__(self, **values: object) -> None:
        self._values = values

    def __enter__(self) -> None:
        self._token: Token[Mapping[str, object]] = _context.set({**_context.get(), **self._values})

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _context.reset(self._token)


def configure(*, format_: Format = "text", level: str = "INFO") -> None:
    """Set up logging for the process."""
    shared: list[structlog.types.Processor] = [
        _add_context,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderer: structlog.types.Processor = (
        structlog.processors.JSONRenderer()
        if format_ == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[*shared, structlog.processors.format_exc_info, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(level)),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(
        level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(message)s"
    )


def _add_context(
    _: Any, __: str, message: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    return {**{name: str(value) for name, value in _context.get().items()}, **message}


def get(name: str) -> structlog.typing.FilteringBoundLogger:
    """A logger that adds `part=name` to its messages."""
    logger: structlog.typing.FilteringBoundLogger = structlog.get_logger(part=name)
    return logger
