"""Signed releases: what was signed is verified offline, and a changed byte anywhere is refused."""

import base64
import json
import os
import shutil
import stat
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from referencing import Registry, Resource

import wane
from wane.certificates import certificate_schema
from wane.cli import main
from wane.errors import InvalidDescription
from wane.signing import (
    ENVELOPE,
    check_signature,
    new_key_pair,
    read_identity,
    read_signer,
    sign_folder,
    statement_schema,
)
from wane.signing.envelope import pre_authentication_encoding

DOCS = Path(wane.__file__).parents[2] / "docs"
SCHEMA = """
[target]
name = "label"
classes = ["no", "yes"]
[columns.a]
type = "numeric"
low = -1
high = 1
[columns.kind]
type = "categorical"
categories = ["x", "y"]
"""


@pytest.fixture(scope="module")
def signed(tmp_path_factory) -> Path:
    """A folder with a signed release, the signer's keys, and another's."""
    made = tmp_path_factory.mktemp("signed")
    numbers = np.random.default_rng(3).uniform(-1, 1, 400)
    rows = [f"{a:.3f},{'x' if a > 0 else 'y'},{'yes' if a > 0.1 else 'no'}" for a in numbers]
    (made / "rows.csv").write_text("\n".join(["a,kind,label", *rows]) + "\n")
    (made / "schema.toml").write_text(SCHEMA)
    fit = ["fit", made / "rows.csv", "--schema", made / "schema.toml", "--model", "logistic"]
    fit += ["--epsilon", 8, "--delta", 1e-5, "--adjacency", "zero-out", "--out", made / "release"]
    assert main([str(word) for word in fit]) == 0
    for name in ("signer", "other"):
        assert main(["key", "new", "--out", str(made / name)]) == 0
    assert main(["sign", str(made / "release"), "--key", str(made / "signer")]) == 0
    return made


@pytest.fixture
def copy(signed, tmp_path) -> Path:
    """The release, to be tampered with."""
    return Path(shutil.copytree(signed / "release", tmp_path / "release"))


def verify(capsys, folder: Path, key: Path) -> tuple[int, str]:
    capsys.readouterr()
    status = main(["verify", str(folder), "--identity", str(key)])
    return status, capsys.readouterr().out


def test_a_signed_release_is_verified(signed, capsys):
    status, out = verify(capsys, signed / "release", signed / "signer.pub")
    assert status == 0, out
    assert out.startswith("verified:")
    assert "signature: by" in out
    assert main(["verify", str(signed / "release")]) == 0, "the envelope is no stranger"
    assert "signature: not checked" in capsys.readouterr().out


@pytest.mark.parametrize("words", [[], ["--seconds", "1e-9"]])
def test_json_always_says_what_was_looked_at(signed, capsys, words):
    """Whoever reads the object needs no default for a key, signed or not, in time or not."""
    folder = signed / "release"
    capsys.readouterr()
    for place, signature in ((folder, str), (folder / "certificate.json", type(None))):
        status = main(["verify", str(place), *words, "--json"])
        told = json.loads(capsys.readouterr().out)
        assert told["verified"] is (status == 0) is (not words)
        assert told["void"] is (None if words else False)
        assert isinstance(told["signature"], signature)
        assert bool(told["files"]) is (not words and place == folder)


def test_json_names_what_is_wrong_with_a_signature(signed, copy, capsys):
    (copy / ENVELOPE).unlink()
    assert verify(capsys, copy, signed / "signer.pub")[0] == 1
    assert main(["verify", str(copy), "--identity", str(signed / "signer.pub"), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["verified"] is False and told["void"] is None and told["files"] == []
    assert told["signature"]


def test_another_program_can_check_it(signed):
    """Nothing of wane is used but the file: DSSE, in-toto, Ed25519, SHA-256."""
    envelope = json.loads((signed / "release" / ENVELOPE).read_text())
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    payload = base64.b64decode(envelope["payload"])
    (row,) = envelope["signatures"]
    kind = envelope["payloadType"]
    key = load_pem_public_key((signed / "signer.pub").read_bytes())
    encoded = f"DSSEv1 {len(kind)} {kind} {len(payload)} ".encode() + payload
    key.verify(base64.b64decode(row["sig"]), encoded)
    statement = json.loads(payload)
    certificates = Resource.from_contents(certificate_schema())
    registry = Registry().with_resource(certificate_schema()["$id"], certificates)
    jsonschema.Draft202012Validator(statement_schema(), registry=registry).validate(statement)
    assert {row["name"] for row in statement["subject"]} == {
        entry.name for entry in (signed / "release").iterdir() if entry.name != ENVELOPE
    }
    assert statement["predicate"] == json.loads((signed / "release/certificate.json").read_text())


def test_the_encoding_is_that_of_the_specification():
    """The example of the DSSE protocol."""
    found = pre_authentication_encoding("http://example.com/HelloWorld", b"hello world")
    assert found == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    assert pre_authentication_encoding("\u00fc", b"\x00") == b"DSSEv1 2 \xc3\xbc 1 \x00"


def places(size: int, most: int) -> list[int]:
    return sorted({*np.linspace(0, size - 1, min(size, most)).astype(int).tolist()})


def test_a_flipped_byte_in_any_file_is_refused(signed, copy):
    identity = read_identity(signed / "signer.pub")
    assert check_signature(copy, identity) == ()
    tried = 0
    for entry in sorted(copy.iterdir()):
        whole = entry.read_bytes()
        for place in places(len(whole), 60):
            for bit in (0x01, 0x20):
                changed = bytearray(whole)
                changed[place] ^= bit
                entry.write_bytes(changed)
                assert check_signature(copy, identity), (entry.name, place, bit)
                tried += 1
        for cut in (whole[:-1], whole + b"\n", b""):
            entry.write_bytes(cut)
            assert check_signature(copy, identity), (entry.name, len(cut))
        entry.write_bytes(whole)
    assert tried > 600
    assert check_signature(copy, identity) == ()


def test_every_byte_of_the_envelope_outside_the_payload_counts(signed, copy):
    identity, place = read_identity(signed / "signer.pub"), copy / ENVELOPE
    whole = place.read_bytes()
    first = whole.index(b'"payload": "') + len(b'"payload": "')
    last = whole.index(b'"', first)
    for at in [*range(first + 8), *range(last - 8, len(whole))]:
        for bit in range(8):
            changed = bytearray(whole)
            changed[at] ^= 1 << bit
            place.write_bytes(changed)
            assert check_signature(copy, identity), (at, bit)


def test_what_the_command_says_of_a_tampered_release(signed, copy, capsys):
    (copy / "model-card.md").write_text("nothing is private here\n")
    status, out = verify(capsys, copy, signed / "signer.pub")
    assert status == 1 and out.startswith("NOT verified")
    assert "model-card.md" in out


def _add(folder: Path) -> None:
    (folder / "more.txt").write_text("more")


def _remove(folder: Path) -> None:
    (folder / "model-card.md").unlink()


def _unsign(folder: Path) -> None:
    (folder / ENVELOPE).unlink()


def _link(folder: Path) -> None:
    moved = folder.parent / "elsewhere"
    (folder / "schema.json").rename(moved)
    (folder / "schema.json").symlink_to(moved)


def _nest(folder: Path) -> None:
    (folder / "more").mkdir()


def _swap(folder: Path) -> None:
    one, other = folder / "schema.json", folder / "description.json"
    kept = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(kept)


@pytest.mark.parametrize("change", [_add, _remove, _unsign, _link, _nest, _swap])
def test_a_changed_folder_is_refused(signed, copy, change):
    change(copy)
    assert check_signature(copy, read_identity(signed / "signer.pub"))


def test_another_key_is_refused_whatever_it_calls_itself(signed, copy, capsys):
    assert verify(capsys, copy, signed / "other.pub")[0] == 1
    envelope = json.loads((copy / ENVELOPE).read_text())
    sign_folder(copy, read_signer(signed / "other"), force=True)
    assert verify(capsys, copy, signed / "signer.pub")[0] == 1
    forged = json.loads((copy / ENVELOPE).read_text())
    forged["signatures"][0]["keyid"] = envelope["signatures"][0]["keyid"]
    (copy / ENVELOPE).write_text(json.dumps(forged, indent=2) + "\n")
    found = check_signature(copy, read_identity(signed / "signer.pub"))
    assert "the signature" in found[0]


@pytest.mark.parametrize("indent", [None, 1])
def test_another_spelling_or_a_second_signature_is_refused(signed, copy, indent):
    identity = read_identity(signed / "signer.pub")
    envelope = json.loads((copy / ENVELOPE).read_text())
    (copy / ENVELOPE).write_text(json.dumps(envelope, indent=indent) + "\n")
    assert "spelled" in check_signature(copy, identity)[0]
    envelope["signatures"] *= 2
    (copy / ENVELOPE).write_text(json.dumps(envelope, indent=2) + "\n")
    assert "one signature" in check_signature(copy, identity)[0]


def test_a_signature_proves_no_number(signed, copy, capsys):
    """The holder signs a release whose epsilon was lowered and hashed anew: still refused."""
    from wane.certificates import with_files

    place = copy / "certificate.json"
    document = json.loads(place.read_text())
    document["epsilon"] /= 2
    document = with_files(document, document["files"])
    place.write_text(json.dumps(document, indent=2) + "\n")
    sign_folder(copy, read_signer(signed / "signer"), force=True)
    status, out = verify(capsys, copy, signed / "signer.pub")
    assert status == 1
    assert "contradict" in out


def test_a_folder_that_is_no_whole_release_is_not_signed(signed, copy, tmp_path):
    key = read_signer(signed / "signer")
    with pytest.raises(InvalidDescription, match="--force"):
        sign_folder(copy, key)
    (copy / "model.npz").write_bytes(b"another")
    with pytest.raises(InvalidDescription, match=r"'model\.npz' must be the file"):
        sign_folder(copy, key, force=True)
    place = copy / "certificate.json"
    place.write_text(place.read_text().replace("zero-out", "zero-in", 1))
    with pytest.raises(InvalidDescription, match="damaged or edited"):
        sign_folder(copy, key, force=True)
    with pytest.raises(InvalidDescription, match=r"without certificate\.json"):
        sign_folder(_empty(tmp_path), key)


def _empty(folder: Path) -> Path:
    made = folder / "empty"
    made.mkdir()
    return made


def test_keys_are_for_their_owner(signed, tmp_path):
    private = signed / "signer"
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert "PRIVATE" not in (signed / "signer.pub").read_text()
    with pytest.raises(InvalidDescription, match="must not exist yet"):
        new_key_pair(private)
    lone = tmp_path / "lone"
    lone.write_bytes(private.read_bytes())
    lone.chmod(0o644)
    if os.name == "posix":
        with pytest.raises(InvalidDescription, match="readable by its owner only"):
            read_signer(lone)
    with pytest.raises(InvalidDescription, match="must not exist yet"):
        new_key_pair(lone)
    assert not (tmp_path / "lone.pub").exists(), "no public half without a private one"
    with pytest.raises(InvalidDescription, match="Ed25519 public key"):
        read_identity(private)
    lone.chmod(0o600)
    lone.write_bytes((signed / "signer.pub").read_bytes())
    with pytest.raises(InvalidDescription, match="Ed25519 private key"):
        read_signer(lone)


def test_a_key_is_named_as_the_signature_names_it(signed, capsys, tmp_path):
    assert main(["key", "new", "--out", str(tmp_path / "new"), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["private_key"] == str(tmp_path / "new") and Path(made["public_key"]).is_file()
    words = ["sign", str(signed / "release"), "--key", made["private_key"], "--force", "--json"]
    assert main(words) == 0
    answer = json.loads(capsys.readouterr().out)
    envelope = json.loads(Path(answer["envelope"]).read_text())
    assert envelope["signatures"][0]["keyid"] == answer["key_id"] == made["key_id"]
    again = [*words[:3], str(signed / "signer"), "--force"]  # as the other tests expect it
    assert main(again) == 0


@pytest.mark.parametrize(
    "words",
    [
        ["sign"],
        ["sign", "{release}"],
        ["sign", "{release}", "--key", "{none}"],
        ["sign", "{none}", "--key", "{key}"],
        ["key"],
        ["key", "new"],
        ["key", "new", "--out", "{key}"],
        ["verify", "{release}/certificate.json", "--identity", "{key}.pub"],
        ["verify", "{release}", "--identity", "{none}"],
        ["verify", "{none}", "--identity", "{key}.pub"],
    ],
)
def test_wrong_commands_are_told_in_one_line(signed, words, capsys):
    known = {"release": signed / "release", "key": signed / "signer", "none": signed / "none"}
    assert main([word.format(**known) for word in words]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_folder_that_is_not_there_is_not_called_a_document(signed, capsys):
    known = ["--identity", str(signed / "signer.pub")]
    for place, said in (("none", "no folder of that name"), ("release/model.npz", "a document")):
        assert main(["verify", str(signed / place), *known]) == 2
        assert f"got {said};" in capsys.readouterr().err


def test_the_published_schemas_are_those_of_the_package():
    for name, made in (("release-statement", statement_schema()), ("certificate", None)):
        published = json.loads((DOCS / "schemas" / f"{name}.schema.json").read_text())
        assert published == (made or certificate_schema())
    assert statement_schema()["properties"]["predicateType"]["const"] == certificate_schema()["$id"]
