"""Where the inputs of images are: the folders of the source tree that hold them."""

from dataclasses import dataclass
from pathlib import Path

from cobaltimages import errors

# Folders next to those of images: scripts of build steps and of checks.
TOOLS = "tools"
CHECKS = "checks"


@dataclass(frozen=True, slots=True)
class Sources:
    """A source tree."""

    root: Path

    @property
    def images(self) -> Path:
        """One folder per image."""
        return self.root / "images"

    @property
    def tools(self) -> Path:
        """Scripts that build steps run; no image contains them."""
        return self.images / TOOLS

    @property
    def agents(self) -> Path:
        """Programs that run in pods: modules of one folder per group."""
        return self.root / "src" / "cobaltcore" / "agents"

    @property
    def lab_agents(self) -> Path:
        """Groups of agents that only the lab runs."""
        return self.root / "src" / "cobaltlab" / "agents"

    @property
    def patches(self) -> Path:
        """Changes to components and libraries: `<component>/<release>/*.patch`."""
        return self.root / "patches"

    def options(self, service: str, release: str) -> Path:
        """What a service reads from configuration files: data of the product."""
        folder = self.root / "src" / "cobaltcore" / "services" / service / "options"
        return folder / f"{release}.json"

    def release(self, name: str) -> Path:
        """The pins of an OpenStack release."""
        return self.root / "releases" / name

    def overrides(self, release: str) -> Path:
        """Pins that deviate from what the index had at the release's date."""
        return self.root / "overrides" / release / "constraints.txt"

    def releases(self) -> list[str]:
        """The releases that have pins."""
        return sorted(path.parent.name for path in self.root.glob("releases/*/release.env"))


def find(root: Path | None = None) -> Sources:
    """The source tree that this program was started from, or the one at `root`."""
    place = (root or Path(__file__).parents[2]).resolve()
    found = Sources(place)
    if not found.images.is_dir() or not found.releases():
        raise errors.HostError(
            f"{place} is not a source tree: it has no images/ and releases/",
            hint="run from a checkout, or name one with --source",
        )
    return found
