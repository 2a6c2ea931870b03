"""The options that are checked at admission are those of the images."""

from cobaltimages import options, store
from tests.support import built_images


def test_options_in_the_tree_are_those_that_images_read(kept: store.Store) -> None:
    tree, release = built_images.TREE, built_images.RELEASE
    for name, found in options.collected(tree, kept, release):
        same = tree.options(name, release).read_bytes() == found
        assert same, f"the image {name} reads other options; run: cobalt images options"
