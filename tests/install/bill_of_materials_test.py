"""Compares a package's bill of materials with its dependencies and with what its programs load.

usage: bill_of_materials_test.py BILL CONTROL [PROGRAM...]
"""

import json
import pathlib
import re
import subprocess
import sys

bill = json.loads(pathlib.Path(sys.argv[1]).read_text())
control = pathlib.Path(sys.argv[2]).read_text()
programs = sys.argv[3:]
faults = []


def expect(right: bool, fault: str) -> None:
    if not right:
        faults.append(fault)


own = re.search(r"^Package: (.*)$", control, re.M).group(1)
version = re.search(r"^Version: (.*)$", control, re.M).group(1)
expect(bill["bomFormat"] == "CycloneDX" and bill["specVersion"] == "1.5", "not CycloneDX 1.5")
expect(re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bill["serialNumber"])
       is not None, f"serial number {bill['serialNumber']}")
component = bill["metadata"]["component"]
expect((component["name"], component["version"]) == (own, version),
       f"{component['name']} {component['version']} in the package {own} {version}")
references = [each["bom-ref"] for each in bill["components"]]
expect(len(set(references)) == len(references), "a component is there twice")
expect(bill["dependencies"] == [{"ref": component["bom-ref"], "dependsOn": references}],
       "dependencies differ from the components")

versions = {each["name"]: each["version"] for each in bill["components"]}
linked = {each["name"] for each in bill["components"]
          if {"name": "tacet:use", "value": "linked"} in each["properties"]}

# dpkg-shlibdeps found the libraries by itself, from the symbols that the programs use.
for dependency in re.search(r"^Depends: (.*)$", control, re.M).group(1).split(", "):
    name = dependency.split()[0]
    if name not in ("adduser", "pkg-config", "tacet") and not name.endswith("-dev"):
        expect(name in linked, f"{name}, on which the package depends, is not linked in the bill")

# Every library that the loader loads, with the version that is installed here.
def output_of(*command: str) -> str:
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout


libraries = {path for program in programs for path in re.findall(r"=> (/\S+)", output_of("ldd", program))}
expect(bool(libraries) == bool(programs), f"{programs} load nothing")
names = {path: [path, path.removeprefix("/usr"), str(pathlib.Path(path).resolve())] for path in libraries}
owners = {}
for line in output_of("dpkg-query", "-S", *sum(names.values(), [])).splitlines():
    owner, _, path = line.rpartition(": ")
    owners[path] = owner.split(":")[0]
installed = output_of("dpkg-query", "-W", "-f", "${Package} ${Version}\n").splitlines()
for path, several in names.items():
    package = next((owners[name] for name in several if name in owners), None)
    expect(package in linked and f"{package} {versions.get(package)}" in installed,
           f"{path} of {package} is loaded and not in the bill")

# Libraries without a file to load: their code is in ours.
for name in ("nlohmann-json3-dev", "libhwy-dev", "uplot"):
    expect(own == "tacet-dev" or name in versions, f"{name} is not in the bill")

if faults:
    sys.exit("\n".join([f"{sys.argv[1]}:", *sorted(set(faults))]))
