"""The runner of notebooks sees a cell that fails and outputs that were stored."""

from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from run_notebook import main


def test_a_failing_cell_and_stored_outputs_are_seen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.ipynb"
    cases = {
        "ZeroDivisionError": new_code_cell("1 / 0"),
        "stored outputs": new_code_cell("1", outputs=[new_output("stream", text="1")]),
        "leads nowhere": new_markdown_cell("[there](nowhere.ipynb)"),
    }
    for reason, cell in cases.items():
        nbformat.write(new_notebook(cells=[cell]), path)
        with pytest.raises(SystemExit, match=reason):
            main(path)
    nbformat.write(new_notebook(cells=[new_code_cell("print(6 * 7)")]), path)
    main(path)
    assert capsys.readouterr().out == "42\n"
