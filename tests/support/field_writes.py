"""Which status fields of our kinds the code writes: found in its syntax trees, nothing is run.

A field is written where its struct is created with it, or as a key of a mapping in the folder that
serves the kind or in the engine.
"""

import ast
from collections.abc import Iterator

import msgspec
from msgspec import inspect

from tests.support import field_reads


class Writes:
    """What the code creates."""

    def __init__(self) -> None:
        self._created: set[tuple[str, str]] = set()
        self._keys: dict[str, set[str]] = {}
        for path, tree in field_reads.modules():
            keys = self._keys.setdefault(field_reads.folder(path), set())
            for node in ast.walk(tree):
                if isinstance(node, ast.Call):
                    self._call(node)
                elif isinstance(node, ast.Dict):
                    keys |= {str(k.value) for k in node.keys if isinstance(k, ast.Constant)}
                elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                    keys |= {ast.unparse(node.slice).strip("'")}

    def _call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        name = node.func.id if isinstance(node.func, ast.Name) else name
        self._created |= {(name, each.arg or "") for each in node.keywords}

    def unwritten(self, status: type[msgspec.Struct], folder: str) -> Iterator[str]:
        """Fields below a status that nothing writes."""
        yield from self._unwritten(status, folder, "status")

    def _unwritten(self, struct: type[msgspec.Struct], folder: str, path: str) -> Iterator[str]:
        info = inspect.type_info(struct)
        assert isinstance(info, inspect.StructType)
        keys = self._keys.get(folder, set()) | self._keys["engine"]
        for each in info.fields:
            is_created = any(
                (name, each.name) in self._created for name in (struct.__name__, "replace")
            )
            if not is_created and keys.isdisjoint({each.encode_name, each.name}):
                yield f"{path}.{each.encode_name}"
                continue
            for inner in field_reads.structs_in(each.type):
                if inner.__module__.startswith("cobaltcore.api"):
                    yield from self._unwritten(inner, folder, f"{path}.{each.encode_name}")
