"""`wane sign`: a release under somebody's signature, for auditors to check offline."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from wane.cli.options import Result, Verb
from wane.errors import InvalidDescription


def register(verb: Verb) -> None:
    """Add the command."""
    made = verb("sign", sign, "sign a release, or make a key to sign with", spec=False)
    made.add_argument("release", nargs="?", metavar="RELEASE", help="the folder of a release")
    made.add_argument("--key", metavar="FILE", help="private key, as --new-key makes it")
    made.add_argument("--force", action="store_true", help="replace an earlier signature")
    made.add_argument(
        "--new-key", metavar="FILE", help="make a key, and FILE.pub to hand to auditors"
    )


def sign(options: Namespace) -> Result:
    """`wane sign`: write the envelope into the folder, or make a key."""
    from wane import signing

    if options.new_key is not None:
        if options.release is not None or options.key is not None:
            raise InvalidDescription("--new-key must stand alone; sign in a second command.")
        public = signing.new_key_pair(options.new_key)
        words = (
            f"wrote {options.new_key}, which only you can read and nobody else should\n"
            f"wrote {public}, to hand to whoever checks your signatures"
        )
        return {"private_key": str(options.new_key), "public_key": str(public)}, words
    if options.release is None or options.key is None:
        raise InvalidDescription(
            "RELEASE and --key must both be given to sign; make a key with wane sign --new-key "
            "FILE."
        )
    folder = Path(options.release)
    if not folder.is_dir():
        raise InvalidDescription(f"{folder!s:.120} must be the folder of a release, got none.")
    statement = signing.sign_folder(folder, signing.read_signer(options.key), force=options.force)
    place = folder / signing.ENVELOPE
    names = [row["name"] for row in statement["subject"]]
    words = f"wrote {place}: a signature over {len(names)} files and the certificate among them"
    return {"envelope": str(place), "files": names}, words
