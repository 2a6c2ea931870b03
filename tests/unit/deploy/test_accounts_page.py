"""The page about accounts has what their roles have."""

from cobaltcore.deploy import accounts, rbac
from cobaltcore.engine import registry


def row(text: str, operator: str) -> str:
    """The line of an operator in one of the tables."""
    (found,) = (line for line in text.splitlines() if line.startswith(f"| `cobalt-{operator}` |"))
    return found


def test_every_operator_has_a_row_with_the_kinds_that_it_writes() -> None:
    text, _, _ = accounts.page().partition("--watch-namespace")
    for each in registry.operators():
        for kind in (*each.rights.serves, *each.rights.creates):
            assert kind.kind in row(text, each.name)


def test_only_nodes_and_webhooks_are_cluster_wide() -> None:
    wide = accounts.page().partition("Cluster-wide")[2]
    for each in registry.operators():
        reads_nodes = any(kind.kind == "Node" for kind in rbac.kinds_watched_by(each))
        assert ("reads Node" in row(wide, each.name)) == reads_nodes
