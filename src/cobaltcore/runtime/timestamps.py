"""Times as API objects spell them. Pure."""

from datetime import UTC, datetime


def timestamp(moment: datetime) -> str:
    """Format a time as the API server does, truncated to seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_timestamp(text: str) -> datetime:
    """Parse a time of an API object."""
    return datetime.fromisoformat(text)
