"""Docstrings of the package: each argument of a public function is explained."""

import ast
from collections.abc import Iterator
from pathlib import Path

import tacet

MODULES = (
    "member",
    "privacy",
    "relay_server",
    "simulation",
    "session",
    "sklearn",
    "statistics",
    "table_files",
    "torch_fit",
    "torch_modules",
    "torch_training",
    "torch_vectors",
)


def unexplained(tree: ast.AST, prefix: str) -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name.startswith("_"):
            continue
        if isinstance(node, ast.ClassDef):
            yield from unexplained(node, f"{prefix}{node.name}.")
        elif not any(ast.unparse(decorator) == "overload" for decorator in node.decorator_list):
            text = ast.get_docstring(node) or ""
            arguments = node.args.args + node.args.kwonlyargs
            for argument in arguments:
                if argument.arg not in ("self", "cls") and argument.arg not in text:
                    yield f"{prefix}{node.name}: {argument.arg}"


def test_every_argument_is_explained() -> None:
    folder = Path(tacet.__file__).parent
    found: list[str] = []
    for name in MODULES:
        tree = ast.parse((folder / f"{name}.py").read_text(encoding="utf-8"))
        found.extend(unexplained(tree, f"{name}."))
    assert found == []


def test_an_argument_without_explanation_is_found() -> None:
    tree = ast.parse('def work(self, x, *, y):\n    """Return x."""')
    assert list(unexplained(tree, "")) == ["work: y"]
