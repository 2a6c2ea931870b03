"""When a schedule falls due. Pure: the time comes in as an argument."""

from datetime import datetime

from cronsim import CronSim

NICKNAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


def next_due(schedule: str, after: datetime) -> datetime:
    """The first moment of a cron schedule after another moment."""
    return next(CronSim(NICKNAMES.get(schedule, schedule), after))
