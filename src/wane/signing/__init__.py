"""Sign a release: an in-toto statement of its files, in a DSSE envelope (extra `sign`)."""

from wane.signing.envelope import ENVELOPE, check_signature, sign_folder
from wane.signing.keys import key_identifier, new_key_pair, read_identity, read_signer
from wane.signing.statement import predicate_type, release_statement, statement_schema

__all__ = [
    "ENVELOPE",
    "check_signature",
    "key_identifier",
    "new_key_pair",
    "predicate_type",
    "read_identity",
    "read_signer",
    "release_statement",
    "sign_folder",
    "statement_schema",
]
