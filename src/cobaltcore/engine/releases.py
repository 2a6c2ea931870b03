"""Which image of a component belongs to which OpenStack release. Pure."""

REGISTRY = "ghcr.io/c5c3"
IMAGE_TAGS = {
    "2025.2": {
        "keystone": "28.0.0",
        "glance": "31.0.0",
        "placement": "14.0.0",
        "nova": "32.1.0",
        "neutron": "27.0.1",
        "cinder": "27.0.0",
        "tempest": "41.0.0",
        # Their versions are Debian's and move with its point releases.
        "memcached": "stable-2025.2",
        "ovn": "stable-2025.2",
        "ovs": "stable-2025.2",
        "libvirt": "stable-2025.2",
    }
}


class UnknownRelease(Exception):
    """The operator has no images for a release."""


def image_tag(component: str, release: str) -> str:
    """The tag of a component's image in a release."""
    known = IMAGE_TAGS.get(release)
    if known is None:
        names = ", ".join(sorted(IMAGE_TAGS))
        raise UnknownRelease(f"openStackRelease: this operator knows {names}, not {release}")
    return known[component]
