"""Works cited, as a reader looks them up."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from importlib.resources import files

_ACCENTS = {"'": "\u0301", "`": "\u0300", '"': "\u0308", "^": "\u0302", "~": "\u0303"}


def reference(key: str) -> str:
    """Return authors, title, where and when of a key in `references.bib`; the key if unknown."""
    return _references().get(key, key)


@cache
def _references() -> dict[str, str]:
    raw = (files("wane") / "references.bib").read_text(encoding="utf-8")
    return {
        key: _sentence(body) for key, body in re.findall(r"@\w+\{(\S+?),\n(.*?)\n\}", raw, re.S)
    }


def _sentence(body: str) -> str:
    found = re.findall(r"^\s*(\w+)\s*=\s*\{(.*?)\},?$(?=\s*\w+\s*=|\s*\Z)", body, re.S | re.M)
    entry = {name.lower(): _plain(value) for name, value in found}
    where = entry.get("journal") or entry.get("booktitle") or entry.get("howpublished")
    arxiv = f"arXiv:{entry['eprint']}" if "eprint" in entry else None
    authors = entry.get("author", "").replace(" and ", ", ")
    parts = (authors, entry.get("title"), where, entry.get("year"), arxiv)
    return ". ".join(part for part in parts if part) + "."


def _plain(value: str) -> str:
    value = re.sub(
        r"\\(['`\"^~])\{?(\w)\}?",
        lambda m: unicodedata.normalize("NFC", m.group(2) + _ACCENTS[m.group(1)]),
        value,
    )
    return " ".join(value.replace("{", "").replace("}", "").split())
