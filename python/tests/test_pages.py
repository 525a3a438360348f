"""Pages of the package, made by tools/python_pages.py."""

import html
import importlib.util
import re
import subprocess
import sys
import types
from pathlib import Path

import pdoc.doc

TOOL = Path(__file__).parents[2] / "tools" / "python_pages.py"


def text_of(page: Path) -> str:
    text = html.unescape(re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8")))
    return re.sub(r"\s+", " ", text)


def test_every_module_has_a_page_with_signatures_shapes_and_units(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(TOOL), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {path.stem for path in (tmp_path / "tacet").glob("*.html")}
    assert {"secagg", "simulation", "ferry", "flower", "nvflare", "torch", "sklearn"} <= pages
    secagg = text_of(tmp_path / "tacet" / "secagg.html")
    assert "seal(self, attempt: AttemptId, update: object) -> SealedUpdate" in secagg
    assert "`update`" not in secagg
    assert "update has shape (d,), float32 or float64" in secagg
    assert "unknown" not in secagg
    simulate = text_of(tmp_path / "tacet" / "simulation.html")
    assert "parameters before the first round, float32 of shape (d,)" in simulate
    # Nothing of the machine that made them.
    for page in tmp_path.rglob("*.html"):
        content = page.read_text(encoding="utf-8")
        assert str(TOOL.parents[1]) not in content
        assert " at 0x" not in content


def test_a_missing_docstring_is_seen() -> None:
    spec = importlib.util.spec_from_file_location("python_pages", TOOL)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    module = types.ModuleType("bare")
    module.__doc__ = "A module."
    exec("class Bare:\n    def work(self): pass\n    def _own(self): pass", vars(module))
    module.__all__ = ["Bare"]
    assert tool.undocumented([pdoc.doc.Module(module)]) == ["bare.Bare", "bare.Bare.work"]
