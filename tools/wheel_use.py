"""A use of the installed package, for tools/python_wheels.py and tools/wheel_check.sh.

usage: python tools/wheel_use.py FOLDER

FOLDER gets the runs. Fails where a part of the package is missing, cannot be loaded, or needs more
than 0.08 s of processor time to be imported after NumPy.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

LONGEST_IMPORT_SECONDS = 0.08
IMPORT = """
import time
import numpy
begin = time.process_time()
import tacet
print(time.process_time() - begin)
"""
# A network of the program's own, on handwriting that it draws.
BUILT_IN = """
[data]
handwriting_writers = 8
handwriting_classes = 2
[model]
name = "mlp"
hidden = [4]
[federation]
rounds = 1
cohort = 4
[privacy]
noise_multiplier = 2
delta = 1e-3
"""


def import_seconds():
    """Least processor time of five imports, since other programs may run."""
    command = [sys.executable, "-c", IMPORT]
    return min(float(subprocess.check_output(command, text=True)) for _ in range(5))


def use(folder):
    """Train, ask, seal, report and audit."""
    import numpy as np

    import tacet
    from tacet import secagg, statistics

    noise = tacet.calibrate(target_epsilon=6, clients=100, cohort=50, rounds=20, delta=1e-4)
    assert 2 < noise < 7, noise
    run = tacet.simulate(
        lambda model, client, round_: np.full_like(model, 0.1),
        clients=6,
        initial=np.zeros(50, dtype=np.float32),
        privacy=tacet.Privacy(noise_multiplier=2, delta=1e-3),
        rounds=2,
        threads=2,
        out=folder / "run",
    )
    assert run.epsilon is not None
    release = statistics.ask(
        {"north": {"age": [40, 50]}, "south": {"age": [60, 70]}},
        [statistics.count()],
        target_epsilon=1,
        max_units=5,
        out=folder / "answers",
    )
    assert len(release) == 1
    secagg.MemberKey.generate()
    page = tacet.report([run, folder / "run"], out=folder / "page.html")
    assert page.stat().st_size > 10_000
    audit = tacet.audit.write(run)
    assert tacet.audit.verify(audit.path, signer=audit.signer).pinned
    assert tacet.ledger.show(run).charges == 2
    try:
        tacet.Member(folder / "none", server="127.0.0.1:1", data=__file__, key_file=folder / "key")
    except tacet.NotFoundError as error:
        assert "holds no identity" in str(error), error


def use_commands():
    """Call both console commands."""
    commands = pathlib.Path(sys.executable).parent
    for words in (["tacet"], ["tacet", "server"], ["tacet-server"]):
        told = subprocess.check_output([commands / words[0], *words[1:], "--version"], text=True)
        assert told.startswith(("-".join(words) + " ")), told
    with tempfile.TemporaryDirectory() as folder:
        config, run = pathlib.Path(folder, "run.toml"), pathlib.Path(folder, "run")
        config.write_text(BUILT_IN, encoding="utf-8")
        command = [commands / "tacet", "simulate", "--config", config, "--out", run, "--json"]
        told = subprocess.run(command, check=True, capture_output=True).stdout
        assert json.loads(told)["rounds"] == 1


if __name__ == "__main__":
    runs = pathlib.Path(sys.argv[1])
    runs.mkdir(parents=True)
    use(runs)
    use_commands()
    seconds = import_seconds()
    assert seconds <= LONGEST_IMPORT_SECONDS, f"the import took {seconds:.3f} s of processor time"
    print(f"python {sys.version.split()[0]}: imported in {seconds:.3f} s after NumPy")
