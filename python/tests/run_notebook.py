"""Runs a notebook in a folder of its own with a kernel of this Python; refuses stored outputs.

usage: run_notebook.py NOTEBOOK
"""

import os
import pathlib
import sys
import tempfile

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError


def main(path: pathlib.Path) -> None:
    """Run the notebook; leaves with status 1 when a cell fails."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.get("outputs") or cell.get("execution_count"):
            sys.exit(
                f"{path}: a cell has stored outputs, which can hold data and paths: clear them"
            )
    for link in (word for cell in notebook.cells for word in cell.source.split("](")[1:]):
        target = link.split(")")[0]
        if not target.startswith("http") and not (path.parent / target).exists():
            sys.exit(f"{path}: the link to {target} leads nowhere")
    with tempfile.TemporaryDirectory() as folder:
        # Kernels and settings of the user are not used.
        os.environ |= {"JUPYTER_DATA_DIR": f"{folder}/.jupyter", "IPYTHONDIR": f"{folder}/.ipython"}
        client = NotebookClient(
            notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}
        )
        try:
            client.execute()
        except CellExecutionError as error:
            sys.exit(f"{path}: {error}")
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            print(output.get("text", ""), end="")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
