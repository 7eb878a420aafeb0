"""`wane sign`: a release under somebody's signature, for auditors to check offline."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from wane.cli.options import Result, Verb
from wane.errors import InvalidDescription


def register(verb: Verb) -> None:
    """Add the two commands."""
    signing = verb("sign", sign, "sign a release, for others to check offline", spec=False)
    signing.add_argument("release", metavar="RELEASE", help="the folder of a release")
    signing.add_argument(
        "--key", required=True, metavar="FILE", help="private key, as wane key new makes it"
    )
    signing.add_argument("--force", action="store_true", help="replace an earlier signature")
    keys = verb("key", key, "make a key to sign releases with", spec=False)
    keys.add_argument("action", choices=["new"], help="make a key pair")
    keys.add_argument(
        "--out",
        required=True,
        metavar="FILE",
        help="where the private key goes; FILE.pub is for auditors",
    )


def key(options: Namespace) -> Result:
    """`wane key new`: write a private key and, beside it, its public key."""
    from wane import signing

    public = signing.new_key_pair(options.out)
    words = (
        f"wrote {options.out}, which only you can read and nobody else should\n"
        f"wrote {public}, to hand to whoever checks your signatures"
    )
    made = {"private_key": str(options.out), "public_key": str(public)}
    return {"key_id": signing.key_identifier(signing.read_identity(public)), **made}, words


def sign(options: Namespace) -> Result:
    """`wane sign`: write the envelope into the folder."""
    from wane import signing

    folder = Path(options.release)
    if not folder.is_dir():
        raise InvalidDescription(f"{folder!s:.120} must be the folder of a release, got none.")
    signer = signing.read_signer(options.key)
    statement = signing.sign_folder(folder, signer, force=options.force)
    place = folder / signing.ENVELOPE
    names = [row["name"] for row in statement["subject"]]
    words = f"wrote {place}: a signature over {len(names)} files and the certificate among them"
    return {
        "key_id": signing.key_identifier(signer.public_key()),
        "envelope": str(place),
        "files": names,
    }, words
