from pathlib import Path

import pytest

from cobaltimages import errors, recipe, sources


def a_tree(root: Path, **containerfiles: str) -> sources.Sources:
    """A source tree with images; names have dashes where keywords have underscores."""
    for name, text in {"debian": "FROM scratch\n", **containerfiles}.items():
        folder = root / "images" / name.replace("_", "-")
        folder.mkdir(parents=True)
        (folder / "Containerfile").write_text(text)
        (folder / "check").write_text("true\n")
    return sources.Sources(root)


ON_DEBIAN = "ARG BASE=ghcr.io/c5c3/debian\nFROM ${BASE}\n"
ON_PYTHON = "ARG PYTHON_BASE=ghcr.io/c5c3/python-base\nFROM ${PYTHON_BASE}\n"


def test_base_images_come_first(tmp_path: Path) -> None:
    tree = a_tree(tmp_path, alpha=ON_PYTHON, python_base=ON_DEBIAN)

    assert list(recipe.read_all(tree)) == ["debian", "python-base", "alpha"]


def test_a_recipe_knows_what_it_mounts_and_whose_version_it_has(tmp_path: Path) -> None:
    text = (
        f"{ON_DEBIAN}LABEL io.c5c3.version-of=memcached\n"
        "RUN --mount=type=bind,from=tools,target=/t --mount=type=bind,from=host,target=/h true\n"
    )
    tree = a_tree(tmp_path, memcached=text)

    found = recipe.read_all(tree)["memcached"]

    assert found.contexts == {"tools", "host"}
    assert found.version_package == "memcached"
    assert found.repository == "ghcr.io/c5c3/memcached"


def test_an_image_without_its_parent_is_refused(tmp_path: Path) -> None:
    tree = a_tree(tmp_path, alpha=ON_PYTHON)

    with pytest.raises(errors.HostError, match="uses the image python-base"):
        recipe.read_all(tree)


def test_wanted_images_bring_their_parents(tmp_path: Path) -> None:
    tree = a_tree(tmp_path, alpha=ON_PYTHON, beta=ON_DEBIAN, python_base=ON_DEBIAN)

    found = recipe.with_parents(recipe.read_all(tree), ["alpha"])

    assert list(found) == ["debian", "python-base", "alpha"]


def test_an_unknown_image_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    tree = a_tree(tmp_path)

    with pytest.raises(errors.HostError, match="no image gamma") as caught:
        recipe.with_parents(recipe.read_all(tree), ["gamma"])

    assert "debian" in caught.value.hint
