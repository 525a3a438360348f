#!/usr/bin/env python3
"""Licences of the libraries that a wheel will bring, added to it.

usage: tools/wheel_licences.py WHEEL FOLDER [SYSROOT]

WHEEL is one that auditwheel has not repaired yet. Its libraries are those that the dynamic linker
finds for its binaries, with LD_LIBRARY_PATH. For each, and for those that are compiled in, the
copyright file of its Debian package goes into licenses/libraries/ of the wheel's metadata. Packages
are those in SYSROOT, by default of this machine. FOLDER holds the package nanobind of the index.
auditwheel then lists the files in RECORD.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

# Of the system on which a wheel is used (manylinux): a wheel does not bring them.
OF_THE_SYSTEM = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|gcc_s|stdc\+\+|z))\.so\.\d+$")
# Headers and archives.
COMPILED_IN = ["libboost-dev", "libboost-math-dev", "libcli11-dev", "libhwy-dev", "libkissfft-dev",
               "libtomlplusplus-dev", "nlohmann-json3-dev"]
ELF = b"\x7fELF"


def libraries(wheel):
    """Names of the libraries that the binaries of a wheel need, directly or not."""
    needed = set()
    for name in wheel.namelist():
        content = wheel.read(name)
        if not content.startswith(ELF):
            continue
        with tempfile.NamedTemporaryFile(suffix=".so") as file:
            file.write(content)
            file.flush()
            os.chmod(file.name, 0o700)
            told = subprocess.run(["ldd", file.name], capture_output=True, text=True, check=True)
        needed |= {line.split()[0] for line in told.stdout.splitlines() if "=>" in line}
    return sorted(name for name in needed if not OF_THE_SYSTEM.match(name))


def package_of(library):
    """The Debian package that has a library of this name."""
    told = subprocess.run(["dpkg", "-S", f"*/{library}"], capture_output=True, text=True, check=False)
    owners = [line.partition(":")[0] for line in told.stdout.splitlines()]
    if not owners:
        sys.exit(f"wheel_licences: no Debian package has {library}: its licence is not known")
    return owners[0]


def main(arguments):
    if len(arguments) not in (2, 3):
        sys.exit("usage: tools/wheel_licences.py WHEEL FOLDER [SYSROOT]")
    documents = pathlib.Path(arguments[2] if arguments[2:] else "/", "usr/share/doc")
    with zipfile.ZipFile(arguments[0], "a", zipfile.ZIP_DEFLATED) as wheel:
        metadata = next(name.removesuffix("/WHEEL") for name in wheel.namelist()
                        if name.endswith(".dist-info/WHEEL"))
        packages = sorted({*COMPILED_IN, *map(package_of, libraries(wheel))})
        files = {name: documents / name / "copyright" for name in packages}
        files["nanobind"] = next(pathlib.Path(arguments[1]).glob("nanobind-*.dist-info/**/LICENSE"))
        for name, file in files.items():
            wheel.writestr(f"{metadata}/licenses/libraries/{name}", file.read_bytes())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
