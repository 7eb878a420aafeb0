"""Write the SBOM: wane and everything in the lock file, as CycloneDX 1.5 JSON, always alike."""

from __future__ import annotations

import json
import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements" / "test.lock"
SBOM = ROOT / "requirements" / "sbom.cdx.json"
PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)")
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def locked() -> list[tuple[str, str, list[str]]]:
    """Name, version and the hashes of its files, for each package of the lock file."""
    made: list[tuple[str, str, list[str]]] = []
    for line in LOCK.read_text(encoding="utf-8").splitlines():
        if found := PINNED.match(line):
            made.append((found[1].lower(), found[2], []))
        if digest := HASH.search(line):
            made[-1][2].append(digest[1])
    return made


def component(name: str, version: str, hashes: list[str]) -> dict[str, Any]:
    """A package that may be installed; each hash is that of one of its files."""
    address = f"pkg:pypi/{name}@{version}"
    return {
        "type": "library",
        "bom-ref": address,
        "name": name,
        "version": version,
        "purl": address,
        "hashes": [{"alg": "SHA-256", "content": digest} for digest in sorted(hashes)],
    }


def sbom() -> dict[str, Any]:
    """The whole document; it holds no time and no serial number, so equal locks give equal ones."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = runpy.run_path(str(ROOT / "src" / "wane" / "_version.py"))["__version__"]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": f"pkg:pypi/wane@{version}",
                "name": project["name"],
                "version": version,
                "description": project["description"],
                "licenses": [{"license": {"id": project["license"]}}],
                "purl": f"pkg:pypi/wane@{version}",
            }
        },
        "components": [component(*package) for package in locked()],
    }


if __name__ == "__main__":
    SBOM.write_text(json.dumps(sbom(), indent=1) + "\n", encoding="utf-8")
