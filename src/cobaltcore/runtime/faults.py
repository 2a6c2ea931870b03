"""Errors that one object causes in a cache: logged once, counted, and kept until it is corrected."""

from cobaltcore.runtime import errors, log
from cobaltcore.runtime.meta import Key
from cobaltcore.runtime.metrics import OBJECT_ERRORS

UNKNOWN = Key("", "")
"""Key of objects whose name cannot be decoded."""

_log = log.get("cache")


class Faults:
    """What is wrong with objects of one kind, by object and step."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._messages: dict[Key, dict[str, str]] = {}

    def record(self, key: Key, step: str, error: Exception) -> None:
        """Count an error; log it unless it is the one that is known."""
        OBJECT_ERRORS.labels(self._kind, step).inc()
        message = f"{type(error).__name__}: {error}"
        known = self._messages.setdefault(key, {})
        if known.get(step) == message:
            return
        known[step] = message
        _log.error(
            "object skipped",
            kind=self._kind,
            key=str(key) or "unknown",
            step=step,
            error=message,
            exc_info=error,
        )

    def resolve(self, key: Key, step: str) -> None:
        """Forget the error of a step, which the object passes now."""
        known = self._messages.get(key)
        if known is not None:
            known.pop(step, None)
            if not known:
                del self._messages[key]

    def forget(self, key: Key) -> None:
        """Forget the errors of a deleted object."""
        self._messages.pop(key, None)

    def has(self, key: Key, step: str) -> bool:
        return step in self._messages.get(key, ())

    def of(self, key: Key) -> errors.ObjectFault | None:
        """The errors of an object as one, or None."""
        known = self._messages.get(key)
        if not known:
            return None
        return errors.ObjectFault(
            "; ".join(f"{step} of the object failed with {each}" for step, each in known.items()),
            hint="correct the object; if it is valid, report this with the operator's log",
        )
