"""What a forger would do, too: hash a changed document again."""

import hashlib
import json


def sealed(document):
    """The document with the hash of what it says now."""
    rest = {name: value for name, value in document.items() if name != "document_sha256"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return rest | {"document_sha256": hashlib.sha256(text.encode()).hexdigest()}
