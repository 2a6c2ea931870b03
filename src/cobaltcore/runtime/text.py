"""Texts for people that are too long for their place: cut between words. Pure."""

CUT = "…"


def shortened(text: str, limit: int) -> str:
    """The beginning, if it is longer than `limit` characters; one long word is cut anywhere."""
    if len(text) <= limit:
        return text
    kept = text[: limit - 2]
    words, space, _ = text[: limit - 1].rpartition(" ")
    return (words if space and len(words) > limit // 2 else kept).rstrip(" ,;:") + f" {CUT}"


def ending(text: str, limit: int) -> str:
    """The end, where programs say what is wrong."""
    if len(text) <= limit:
        return text
    kept = text[-(limit - 2) :]
    _, space, words = text[-(limit - 1) :].partition(" ")
    return f"{CUT} " + (words if space and len(words) > limit // 2 else kept)
