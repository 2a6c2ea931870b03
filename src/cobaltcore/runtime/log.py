"""Structured logs: one constant event with values; people get columns, machines get JSON."""

import logging
import sys
from typing import Literal

import structlog

Format = Literal["text", "json"]


def configure(*, format_: Format = "text", level: str = "INFO") -> None:
    """Set up logging for the process; library messages come out in the same form."""
    shared: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
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


def get(name: str) -> structlog.typing.FilteringBoundLogger:
    """A logger that names the part of the program it speaks for."""
    logger: structlog.typing.FilteringBoundLogger = structlog.get_logger(part=name)
    return logger
