#!/usr/bin/env python3
"""Pages of the Python package, made by pdoc from its docstrings.

usage: tools/python_pages.py OUT

PYTHONPATH has the built package. Frameworks that are not installed (PyTorch, Flower, NVFLARE) are
replaced by empty classes, so that the pages of their modules are made as well. The status is 1 if
something public has no docstring, or a reference in a docstring leads nowhere.
"""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import pathlib
import re
import sys
import types
import warnings

FRAMEWORKS = ("flwr", "nvflare", "torch")


# Modules of the package that its users do not import.
INTERNAL = (
    "callbacks", "durable_file", "progress", "torch_batches", "torch_clients", "torch_fit",
    "torch_gradients", "torch_layers", "torch_modules", "torch_records", "torch_state", "torch_sums",
    "torch_training", "torch_vectors",
)


class AnyClass(type):
    """Class of classes that have every name."""

    def __getattr__(cls, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return AnyClass(name, (), {"__module__": cls.__module__})


class StandIn(types.ModuleType):
    """A module that has every name: each is an empty class of its own."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        text = f"Class of {self.__name__}, which documents it."
        made = AnyClass(name, (), {"__module__": self.__name__, "__doc__": text})
        setattr(self, name, made)
        return made


class StandInFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of frameworks that are not installed."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in FRAMEWORKS:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return StandIn(spec.name)

    def exec_module(self, module):
        """The module has all its names already."""


class Unquoted(str):
    """Text of an annotation, shown as code."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def read_native_signatures(function_class) -> None:
    """Teach pdoc the functions of the extension module: their docstrings begin with signatures."""
    signature_of = function_class.signature.func
    docstring_of = function_class.docstring.func

    def split(function):
        head, _, rest = (inspect.getdoc(function.obj) or "").partition("\n")
        head = head.replace("tacet._core.", "").replace("collections.abc.", "")
        if not re.fullmatch(rf"{re.escape(function.name)}\(.*\)( -> .+)?", head):
            return None, docstring_of(function)
        return head, rest.strip()

    def signature(self):
        head, _ = split(self)
        if head is None:
            return signature_of(self)
        scope = {}
        exec(f"from __future__ import annotations\ndef {head}: ...", scope)  # noqa: S102
        made = inspect.signature(scope[self.name])
        return made.replace(
            parameters=[
                parameter
                if parameter.annotation is parameter.empty
                else parameter.replace(annotation=Unquoted(parameter.annotation))
                for parameter in made.parameters.values()
            ],
            return_annotation=Unquoted(made.return_annotation)
            if isinstance(made.return_annotation, str) and self.name != "__init__"
            else made.empty,
        )

    for name, value in (("signature", signature), ("docstring", lambda self: split(self)[1])):
        known = functools.cached_property(value)
        known.__set_name__(function_class, name)
        setattr(function_class, name, known)


def modules_of(package: str) -> list[str]:
    """The package and its public modules."""
    folder = pathlib.Path(importlib.import_module(package).__path__[0])
    names = sorted(path.stem for path in folder.glob("[a-z]*.py") if path.stem not in INTERNAL)
    return [package, *(f"{package}.{name}" for name in names)]


def undocumented(documents) -> list[str]:
    """Public things without a docstring; fields of tuples and of enumerations need none."""
    missing = []
    for document in documents:
        if document.name.startswith("_") or document.name.endswith(".__init__"):
            continue
        if document.kind in ("module", "class", "function") and not document.docstring:
            missing.append(document.fullname)
        if document.kind in ("module", "class"):
            missing += undocumented(
                member
                for member in document.members.values()
                if member.kind != "variable"
                and not member.name.startswith("__")
                and member.fullname.startswith(document.fullname)
            )
    return missing


def main() -> None:
    """Write the pages to OUT."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.meta_path.append(StandInFinder())
    import pdoc
    import pdoc.doc
    import pdoc.render

    read_native_signatures(pdoc.doc.Function)
    out = pathlib.Path(sys.argv[1])
    modules = modules_of("tacet")
    pdoc.render.configure(docformat="google", show_source=False, search=True, math=False)
    # Modules that the package itself names get pages with it.
    own = importlib.import_module("tacet").__all__
    warnings.simplefilter("error")
    pdoc.pdoc(*(m for m in modules if m.split(".")[-1] not in own), output_directory=out)
    problems = [
        f"{name} has no docstring"
        for name in undocumented(pdoc.doc.Module(importlib.import_module(m)) for m in modules)
    ]
    for name in modules:
        page = out / (name.replace(".", "/") + ".html")
        if not page.exists():
            problems.append(f"{name} has no page")
            continue
        # A name in backticks that pdoc could resolve became a link.
        text = re.sub(r"<pre>.*?</pre>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for unknown in re.findall(r"<code>(tacet\.[A-Za-z_.]+)</code>", text):
            problems.append(f"{name}: {unknown} leads nowhere")
    if problems:
        sys.exit("\n".join(sorted(set(problems))))
    print(f"{len(modules)} modules: {out / 'index.html'}")


if __name__ == "__main__":
    main()
