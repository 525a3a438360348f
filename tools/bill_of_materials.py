#!/usr/bin/env python3
"""Bill of materials of a program or library of ours, as CycloneDX 1.5 JSON.

The build itself is the source. Shared libraries are those that the loader loads. Libraries that are
compiled in, such as headers of templates, are the Debian packages of the headers that ninja saw when
it compiled the target's objects. Scripts in the pages are the npm packages of web/package.json.
The same build gives the same bytes.

usage: tools/bill_of_materials.py --build FOLDER [--sysroot FOLDER] --name PACKAGE
                                  --version VERSION --out FILE TARGET...
TARGET is a file in FOLDER that ninja makes. An archive (`.a`) loads nothing by itself.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import time
import urllib.parse
import uuid

SOURCE = pathlib.Path(__file__).resolve().parent.parent


def output_of(*command: str) -> str:
    """Standard output of a command that must succeed."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def loaded_libraries(binary: pathlib.Path) -> set[str]:
    """Paths of the shared libraries that the loader loads with the binary."""
    listed = output_of("ldd", str(binary))
    if "not found" in listed:
        sys.exit(f"bill_of_materials: {binary}: a library is missing:\n{listed}")
    return set(re.findall(r"(/\S+) \(0x", listed))


def included_headers(build: pathlib.Path, sysroot: str, targets: list[str]) -> set[str]:
    """Paths of the system's headers that the objects of the targets were compiled from."""
    # -n: this runs as a step of a build, whose log of headers ninja must not tidy up meanwhile.
    ninja = ("ninja", "-C", str(build), "-n", "-t")
    inputs = set(output_of(*ninja, "inputs", *targets).split("\n"))
    headers: set[str] = set()
    counts = False
    for line in output_of(*ninja, "deps").split("\n"):
        if line.startswith("    "):
            if counts and line.startswith(f"    {sysroot}/usr/"):
                headers.add(line.strip())
        else:
            counts = line.split(":")[0] in inputs
    if not headers:
        sys.exit(f"bill_of_materials: {build} has no compiled objects of {' '.join(targets)}")
    return headers


def packages_of(files: set[str]) -> set[str]:
    """Debian packages that the files belong to, such as `libssl3:amd64`."""
    names: dict[str, list[str]] = {}
    for file in files:
        real = str(pathlib.Path(file).resolve())
        # A file in /usr/lib may be registered as one in /lib, the link to it.
        names[file] = [file, real, file.removeprefix("/usr"), real.removeprefix("/usr"),
                       f"/usr{file}"]
    wanted = sorted({name for several in names.values() for name in several})
    # dpkg-query fails where it does not know one of the names.
    said = subprocess.run(["dpkg-query", "-S", *wanted], check=False, capture_output=True, text=True)
    owners = {}
    for line in said.stdout.splitlines():
        packages, _, path = line.rpartition(": ")
        if not line.startswith("diversion by"):
            owners[path] = packages.split(", ")[0]
    found = set()
    for file, several in names.items():
        owner = next((owners[name] for name in several if name in owners), None)
        if owner is None:
            sys.exit(f"bill_of_materials: {file} belongs to no Debian package")
        found.add(owner)
    return found


def debian_components(linked: set[str], compiled: set[str]) -> list[dict]:
    """Components for Debian packages, sorted by name."""
    fields = ("${Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}\t"
              "${binary:Package}\n")
    release = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$',
                              pathlib.Path("/etc/os-release").read_text(), re.M))
    distribution = f"{release['ID']}-{release.get('VERSION_ID', 'unstable')}"
    components = []
    listed = output_of("dpkg-query", "-W", "-f", fields, *sorted(linked | compiled))
    for line in sorted(listed.splitlines()):
        name, version, architecture, source, source_version, binary = line.split("\t")
        names = {name, binary, f"{name}:{architecture}"}
        uses = [use for use, packages in (("linked", linked), ("compiled in", compiled))
                if names & packages]
        purl = (f"pkg:deb/{release['ID']}/{urllib.parse.quote(name, safe='')}@"
                f"{urllib.parse.quote(version, safe='')}?arch={architecture}&distro={distribution}")
        components.append({
            "type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl,
            "properties": [{"name": "tacet:use", "value": use} for use in uses]
            + [{"name": "debian:source", "value": f"{source} {source_version}"}],
        })
    return components


def page_components() -> list[dict]:
    """Components for the npm packages whose scripts the programs embed in their pages."""
    components = []
    dependencies = json.loads((SOURCE / "web/package.json").read_text())["dependencies"]
    for name, version in sorted(dependencies.items()):
        purl = f"pkg:npm/{urllib.parse.quote(name, safe='/')}@{version}"
        components.append({
            "type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl,
            "properties": [{"name": "tacet:use", "value": "embedded"}],
        })
    return components


def bill(name: str, version: str, components: list[dict]) -> dict:
    """The document. Its serial number follows from its content."""
    seconds = int(output_of(str(SOURCE / "tools/source_date.sh")))
    own = f"pkg:generic/{name}@{version}"
    document = {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)),
            "component": {"type": "application", "bom-ref": own, "name": name, "version": version,
                          "purl": own, "licenses": [{"license": {"id": "Apache-2.0"}}]},
        },
        "components": components,
        "dependencies": [{"ref": own, "dependsOn": [each["bom-ref"] for each in components]}],
    }
    content = json.dumps(document, sort_keys=True)
    return {"$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
            "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}", **document}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--sysroot", default="")
    parser.add_argument("--name", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("targets", nargs="+")
    args = parser.parse_args()
    libraries = set().union(*(loaded_libraries(args.build / target) for target in args.targets
                              if not target.endswith(".a")))
    headers = included_headers(args.build, args.sysroot, args.targets)
    components = debian_components(packages_of(libraries), packages_of(headers))
    components += page_components()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(bill(args.name, args.version, components), indent=2) + "\n")


if __name__ == "__main__":
    main()
