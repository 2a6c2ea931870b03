"""Repeat what may be repeated: a request that changes nothing more the second time."""

from dataclasses import dataclass
from datetime import timedelta

from cobaltcore.openstack.errors import Unreachable, Untrusted
from cobaltcore.openstack.transport import Request, Response, Transport
from cobaltcore.runtime.clock import Clock

IDEMPOTENT = frozenset({"GET", "HEAD", "PUT", "DELETE"})
"""Of a DELETE that is repeated the second response may be 404."""
MAY_PASS = frozenset({429, 502, 503, 504})
"""Statuses of a server that is overloaded or restarting."""


@dataclass(frozen=True, slots=True)
class Retry:
    """How often, and after what pauses."""

    attempts: int = 3
    first_pause: timedelta = timedelta(milliseconds=250)
    longest_pause: timedelta = timedelta(seconds=5)
    """A server that asks for a longer one gets no further attempt."""

    async def send(
        self, transport: Transport, request: Request, *, clock: Clock, repeatable: bool
    ) -> Response:
        """Send a request, again if it may be repeated and the fault is of a sort that passes."""
        pause = self.first_pause.total_seconds()
        for _ in range(self.attempts - 1 if repeatable else 0):
            try:
                response = await transport.send(request)
            except Untrusted:
                raise
            except Unreachable:
                wanted = 0.0
            else:
                wanted = _asked_for(response)
                if response.status not in MAY_PASS or wanted > self.longest_pause.total_seconds():
                    return response
            await clock.sleep(max(pause, wanted))
            pause = min(pause * 2, self.longest_pause.total_seconds())
        return await transport.send(request)


def _asked_for(response: Response) -> float:
    """Seconds that the server asks to wait; dates are not used by OpenStack."""
    text = response.headers.get("retry-after", "")
    return float(text) if text.isdecimal() else 0.0
