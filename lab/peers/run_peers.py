#!/usr/bin/env python3
"""The field side by side: measures every peer in a process of its own and writes docs/peers.

    run_peers.py --out docs/peers [--dimension 486654] [--clients 1000] [--held 5] [--only NAME ...]
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import pathlib
import platform
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from peer_table import COLUMNS, WORDS, markdown, picture  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent
# Name, package of the index, script, whether it takes dimension, clients and held.
PEERS = (
    ("tacet", "tacet", "peer_tacet.py", True),
    ("Flower SecAgg+", "flwr", "peer_flower.py", True),
    ("NVFLARE HE (TenSEAL)", "nvflare", "peer_nvflare.py", True),
    ("TenSEAL CKKS", "tenseal", "peer_tenseal.py", True),
    ("OpenFHE CKKS", "openfhe", "peer_openfhe.py", True),
    ("python-paillier", "phe", "peer_paillier.py", True),
    ("Opacus", "opacus", "peer_accountants.py", False),
    ("dp-accounting", "dp-accounting", "peer_accountants.py", False),
    ("prv-accountant", "prv-accountant", "peer_accountants.py", False),
    ("pfl", "pfl", "peer_accountants.py", False),
)
SECONDS = 3600


def version_of(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "–"


def measured(name: str, package: str, script: str, arguments: list[str]) -> dict:
    """The row that a peer's script prints; dashes with the reason when it cannot."""
    environment = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    made = subprocess.run([sys.executable, FOLDER / script, *arguments], check=False,
                          capture_output=True, text=True, timeout=SECONDS, env=environment)
    if made.returncode == 0:
        return json.loads(made.stdout.splitlines()[-1])
    last = (made.stderr.strip().splitlines() or ["no output"])[-1]
    if version_of(package) == "–":
        last = "it is not installed here (lab/peers/requirements.txt says why)"
    reason = f"its measurement ended with an error: {last}" if "not installed" not in last else last
    columns = [column for column, *_ in (*COLUMNS, *WORDS)]
    return {"name": name, "version": version_of(package),
            "reasons": dict.fromkeys(columns, reason)}


def processor() -> str:
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", required=True, type=pathlib.Path, help="folder to write")
    parser.add_argument("--dimension", type=int, default=486_654, help="d, values of an update")
    parser.add_argument("--clients", type=int, default=1000, help="K, updates that are added")
    parser.add_argument("--held", type=int, default=5,
                        help="updates that are really added; times go up to K in proportion")
    parser.add_argument("--only", nargs="*", help="names of the peers to measure")
    args = parser.parse_args()
    if args.dimension < 1000 or args.held < 2 or args.clients < args.held:
        parser.error("--dimension is at least 1000, --held at least 2 and at most --clients")
    rows = []
    for name, package, script, sized in PEERS:
        if args.only and name not in args.only:
            continue
        sizes = [args.dimension, args.clients, args.held]
        arguments = [str(x) for x in sizes] if sized else [package]
        print(f"{name} ...", flush=True)
        rows.append(measured(name, package, script, arguments))
    commit = subprocess.run(["git", "-C", FOLDER, "rev-parse", "--short=12", "HEAD"], check=False,
                            capture_output=True, text=True).stdout.strip() or "unknown"
    record = {"dimension": args.dimension, "clients": args.clients, "held": args.held,
              "commit": commit, "date": datetime.date.today().isoformat(),
              "machine": f"{processor()}, one thread, Python {platform.python_version()}",
              "rows": rows}
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "peers.json").write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    (args.out / "table.md").write_text(markdown(record))
    (args.out / "peers.svg").write_text(picture(record))
    print(markdown(record))


if __name__ == "__main__":
    main()
