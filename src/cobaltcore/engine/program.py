"""Small programs of ours that run in the images of services: their text goes into a ConfigMap."""

from importlib import resources


def text(package: str, name: str) -> str:
    """The source of a program."""
    return resources.files(package).joinpath(name).read_text()
