"""The completion script, in the shell itself: it offers what the parsers know."""

import shutil
import subprocess

import pytest

from wane.cli import main
from wane.cli.completion import commands, script
from wane.cli.main import REGISTERS, _parser


def offered(*words: str) -> set[str]:
    """What bash would offer for the last of these words."""
    quoted = " ".join(f"'{word}'" for word in words)
    code = script(_parser(), "bash")
    code += f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _wane\n"
    code += 'printf "%s\\n" "${COMPREPLY[@]}"\n'
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_offers_what_the_parsers_know(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.toml").touch()
    assert offered("wane", "") == set(dict(commands(_parser())))
    assert offered("wane", "cal") == {"calibrate"}
    assert "--epsilon" in offered("wane", "calibrate", "--")
    assert offered("wane", "calibrate", "--zc") == {"--zcdp"}
    assert offered("wane", "calibrate", "st") == {"steps", "step-size"}
    assert "run.toml" in offered("wane", "certify", "ru")
    assert "--identity" in offered("wane", "verify", "-")


def test_the_command_prints_it(capsys):
    for shell in ("bash", "zsh"):
        assert main(["completion", shell]) == 0
        out = capsys.readouterr().out
        assert "complete -o filenames -F _wane wane" in out
        assert ("bashcompinit" in out) == (shell == "zsh")
    assert main(["completion", "fish"]) == 2


def test_a_command_alone_is_parsed_as_among_all():
    """Only the module of the asked command describes it, with all that the whole parser knows."""
    whole = dict(commands(_parser()))
    for name in REGISTERS:
        alone = dict(commands(_parser(name)))
        assert set(alone) < set(whole)
        options = {name: parser.format_help() for name, parser in alone.items()}
        assert options == {name: whole[name].format_help() for name in alone}
    assert set(whole) == {*REGISTERS, "completion"}
