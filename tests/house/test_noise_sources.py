"""Everything private draws from one source: the syntax trees of the package know no other."""

import ast
from pathlib import Path

import pytest

import wane

ROOT = Path(wane.__file__).parent
SOURCE = ROOT / "randomness.py"
PUBLIC = ("audit",)
"""Rooms that hold no record of anybody: their trials are drawn from public seeds."""
EXACT = {"run/discrete_gaussian.py"}
"""Draws whole numbers from the operating system itself, without a generator."""
CHECKING = {"extra/opacus/evidence.py"}
"""Mixes what it compares with coins that nobody can foresee; nothing drawn there is released."""
MAKERS = {
    "default_rng",
    "RandomState",
    "SeedSequence",
    "Generator",
    "BitGenerator",
    "PCG64",
    "PCG64DXSM",
    "MT19937",
    "Philox",
    "SFC64",
    "ChaCha",
    "SystemRandom",
    "manual_seed",
    "urandom",
    "randbits",
    "randbelow",
    "getrandbits",
}
MODULES = {"random", "randomgen", "numpy.random"}
ASKING = {"public_generator"}
"""May be asked for what is public, by these modules alone."""
MAY_ASK = {"learn/tuning.py", "run/checkpoint.py"}


def sources():
    for path in sorted(ROOT.rglob("*.py")):
        if path != SOURCE and path.relative_to(ROOT).parts[0] not in PUBLIC:
            yield path


def other_sources(tree: ast.AST) -> list[str]:
    """Every way in which a module makes random numbers of its own, with its line."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(node.lineno, a.name) for a in node.names if a.name in MODULES]
        elif isinstance(node, ast.ImportFrom):
            found += [(node.lineno, node.module)] if node.module in MODULES else []
        elif isinstance(node, ast.Call):
            called = node.func
            name = getattr(called, "attr", getattr(called, "id", ""))
            drawn = isinstance(called, ast.Attribute) and ast.unparse(called).startswith(
                ("np.random.", "numpy.random.", "torch.rand", "torch.normal")
            )
            found += [(node.lineno, ast.unparse(called))] if name in MAKERS or drawn else []
    return [f"{line}: {what}" for line, what in found]


@pytest.mark.parametrize("path", list(sources()), ids=lambda p: str(p.relative_to(ROOT)))
def test_no_module_has_a_source_of_its_own(path):
    tree, name = ast.parse(path.read_text()), str(path.relative_to(ROOT))
    if name not in EXACT | CHECKING:
        assert other_sources(tree) == []
    asked = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & ASKING
    assert not asked or name in MAY_ASK


@pytest.mark.parametrize(
    "code",
    [
        "import random",
        "from numpy.random import default_rng",
        "from randomgen import ChaCha",
        "x = np.random.default_rng(3)",
        "x = np.random.standard_normal(3)",
        "x = np.random.Generator(bits)",
        "x = torch.randn(3)",
        "x = os.urandom(8)",
        "x = secrets.randbits(256)",
    ],
)
def test_the_walk_would_notice(code):
    assert other_sources(ast.parse(code))


def test_a_seed_has_one_name():
    """What voids privacy says so wherever it is asked for."""
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.arg | ast.keyword):
                assert node.arg not in ("insecure_rng", "random_state", "rng_seed"), path
