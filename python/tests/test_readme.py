"""The example of README.md prints the lines that the page shows."""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def test_the_example_prints_what_the_page_shows() -> None:
    page = README.read_text(encoding="utf-8")
    blocks = re.search(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```", page, re.M | re.S)
    assert blocks is not None
    code, shown = blocks.groups()
    assert len([line for line in code.splitlines() if line]) <= 6
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    number = r"\d+\.\d+"
    assert re.sub(number, "0", done) == re.sub(number, "0", shown)
    (accuracy, epsilon), (shown_accuracy, shown_epsilon) = (
        re.findall(number, text) for text in (done, shown)
    )
    assert epsilon == shown_epsilon
    # The deviation of fresh noise is 0.013: eight of them.
    assert abs(float(accuracy) - float(shown_accuracy)) < 0.1
