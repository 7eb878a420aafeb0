"""`wane mechanism` and `wane kernel`: what they print, and one line with status 2 on bad input."""

import json
import zipfile

import numpy as np
import pytest
from scipy import sparse

from wane.cli import main
from wane.guarantees import GaussianDP
from wane.mechanisms import MarkovKernel

OU = ["mechanism", "ou", "--sensitivity", "1", "--norm-bound", "2", "--dimension", "3"]
TARGET = ["--epsilon", "1", "--delta", "1e-6"]


def run(capsys, *arguments):
    status = main([str(a) for a in arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


@pytest.fixture
def matrix(tmp_path):
    path = tmp_path / "kernel.csv"
    path.write_text("0.9,0.1\n0.2,0.8\n")
    return path


def test_ornstein_uhlenbeck_fields(capsys):
    status, out, err = run(capsys, *OU, *TARGET, "--json")
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert found["epsilon"] <= 1.0
    assert GaussianDP(found["mu"]).delta(1.0) <= 1e-6
    assert found["scale"] / found["noise_std"] <= found["mu"]
    assert found["scale"] / found["noise_std"] == pytest.approx(found["mu"], rel=1e-12)
    plain, shrunk = found["plain_gaussian_error"], found["shrunk_gaussian_error"]
    assert found["mean_squared_error"] == pytest.approx(shrunk, rel=1e-12)
    assert shrunk < plain


def test_brownian_fields(capsys):
    status, out, _ = run(
        capsys, "mechanism", "brownian", "--sensitivity", 2, "--order", 4, "--divergence", 1,
        "--json",
    )  # fmt: skip
    found = json.loads(out)
    assert status == 0
    assert found["scale"] == 1.0
    assert found["epsilon"] is None
    assert found["mean_squared_error"] is None
    assert GaussianDP(found["mu"]).renyi(4.0) <= 1.0


@pytest.mark.parametrize("target", [TARGET, ["--mu", "0.5"]], ids=["epsilon", "mu"])
def test_text(capsys, target):
    status, out, _ = run(capsys, *OU, *target)
    assert status == 0
    assert out.startswith("release")
    assert "plain Gaussian" in out


def test_kernel_fields(capsys, matrix):
    status, out, err = run(
        capsys, "kernel", matrix, "--epsilon", 1, "--delta", 1e-3, "--power", 5, "--json"
    )
    assert (status, err) == (0, "")
    found = json.loads(out)
    made = MarkovKernel([[0.9, 0.1], [0.2, 0.8]]).power(5)
    assert found["dobrushin"] == made.dobrushin
    assert found["doeblin"] == made.doeblin.coefficient
    assert found["ultra_mixing"] == made.ultra_mixing
    assert found["epsilon"] == 1.0
    assert found["delta"] == made.amplified_delta(1.0, epsilon=1.0, delta=1e-3)
    assert found["curve"][0] == [0.0, made.amplified_delta(0.0, epsilon=1.0, delta=1e-3)]
    assert found["curve"][-1] == [1.0, found["delta"]]
    deltas = [d for _, d in found["curve"]]
    assert deltas == sorted(deltas, reverse=True)


def test_kernel_text_and_other_files(capsys, tmp_path):
    path = tmp_path / "kernel.npz"
    sparse.save_npz(path, sparse.csr_matrix([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]))
    status, out, _ = run(capsys, "kernel", path, "--epsilon", 1, "--delta", 0)
    assert status == 0
    assert "2 inputs, 3 outputs" in out


def garbage(tmp_path):
    rng = np.random.default_rng(0)
    files = {
        "empty.csv": b"",
        "blank.csv": b"\n  \n",
        "words.csv": b"a,b\nc,d\n",
        "ragged.csv": b"0.5,0.5\n1.0\n",
        "header.csv": b"x,y\n0.5,0.5\n0.5,0.5\n",
        "nan.csv": b"nan,1\n0.5,0.5\n",
        "inf.csv": b"inf,0\n0.5,0.5\n",
        "negative.csv": b"1.5,-0.5\n0.5,0.5\n",
        "sum.csv": b"0.5,0.5\n0.5,0.6\n",
        "latin.csv": b"\xff\xfe0.5",
        "noise.csv": rng.bytes(500),
        "noise.npz": rng.bytes(500),
        "empty.npz": b"",
        "empty.npy": b"",
        "noise.npy": b"\x93NUMPY" + rng.bytes(200),
        "matrix.txt": b"1",
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    np.save(tmp_path / "pickle.npy", np.array([{}, 1], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "two.npz", a=np.eye(2), b=np.eye(2))
    np.savez(tmp_path / "half.npz", format=np.array("csr"), shape=np.array([2, 2]))
    np.savez(tmp_path / "vector.npz", np.ones(3))
    np.savez(tmp_path / "none.npz")
    np.savez(tmp_path / "text.npz", np.array([["a", "b"]]))
    np.savez(tmp_path / "pickled.npz", np.array([{}], dtype=object))
    with zipfile.ZipFile(tmp_path / "zip.npz", "w") as archive:
        archive.writestr("matrix.npy", b"not an array")
    whole = (tmp_path / "two.npz").read_bytes()
    (tmp_path / "torn.npz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "folder.csv").mkdir()
    return sorted([*tmp_path.iterdir(), tmp_path / "missing.csv"])


def test_bad_files_are_one_line_and_status_two(capsys, tmp_path):
    for path in garbage(tmp_path):
        status, out, err = run(capsys, "kernel", path, "--epsilon", 1, "--delta", 0.1, "--json")
        assert (status, out) == (2, ""), path.name
        assert err.count("\n") == 1, path.name
        assert err.startswith("wane: "), path.name
        assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--epsilon", "nan", "--delta", "0.1"], 2),
        (["--epsilon", "-1", "--delta", "0.1"], 2),
        (["--epsilon", "inf", "--delta", "0.1"], 2),
        (["--epsilon", "1", "--delta", "1.1"], 2),
        (["--epsilon", "1", "--delta", "nan"], 2),
        (["--epsilon", "1", "--delta", "x"], 2),
        (["--epsilon", "1"], 2),
        (["--epsilon", "1", "--delta", "0.1", "--power", "0"], 2),
        (["--epsilon", "1", "--delta", "0.1", "--power", "-3"], 2),
        (["--epsilon", "1", "--delta", "0.1", "--power", "1.5"], 2),
        (["--epsilon", "1", "--delta", "0.1", "--points", "1"], 2),
        (["--epsilon", "1", "--delta", "0.1", "--points", "99999999"], 2),
    ],
    ids=str,
)
def test_bad_kernel_questions(capsys, matrix, arguments, expected):
    status, out, err = run(capsys, "kernel", matrix, *arguments)
    assert (status, out) == (expected, "")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["mechanism"], 2),
        (["mechanism", "levy", "--sensitivity", "1", "--mu", "1"], 2),
        (["mechanism", "ou", "--sensitivity", "1", "--mu", "1"], 2),
        ([*OU], 2),
        ([*OU, "--mu", "1", *TARGET], 2),
        ([*OU, "--epsilon", "1"], 2),
        ([*OU, "--mu", "nan"], 2),
        ([*OU, "--mu", "-1"], 2),
        ([*OU, "--mu", "1", "--time", "0"], 2),
        ([*OU, "--order", "1", "--divergence", "1"], 2),
        ([*OU, "--epsilon", "1", "--delta", "0"], 2),
        ([*OU, "--epsilon", "1", "--delta", "1"], 1),
        ([*OU, "--mu", "1e-200"], 1),
        (["mechanism", "ou", "--sensitivity", "0", "--norm-bound", "1", "--dimension", "1",
          "--mu", "1"], 2),
        (["mechanism", "ou", "--sensitivity", "1", "--norm-bound", "1", "--dimension", "0",
          "--mu", "1"], 2),
        (["mechanism", "brownian", "--sensitivity", "1", "--mu", "1", "--time", "2"], 2),
        (["mechanism", "brownian", "--sensitivity", "inf", "--mu", "1"], 2),
    ],
    ids=str,
)  # fmt: skip
def test_bad_mechanism_requests(capsys, arguments, expected):
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (expected, "")
    assert err.count("\n") == 1
    assert err.startswith("wane: ")


def test_linear_diffusion_prints_the_bound_beside_its_error(capsys, tmp_path):
    box = ["mechanism", "linear", "--sensitivity", 1, "--box", "10,1,0.1,0.1,0.1,0.1", "--mu", 0.5]
    status, out, err = run(capsys, *box, "--json")
    found = json.loads(out)
    assert (status, err) == (0, "")
    assert found["mean_squared_error"] <= 1.01 * found["least_possible_error"]
    assert found["least_possible_error"] == pytest.approx(4.686, abs=1e-3)
    assert found["mu"] <= 0.5
    status, out, _ = run(capsys, *box)
    assert status == 0 and "least of all linear ones 4.686" in out
    shape = tmp_path / "shape.csv"
    shape.write_text("2,0.5\n0.5,1\n")
    status, out, _ = run(
        capsys, "mechanism", "linear", "--sensitivity-matrix", shape, "--ellipsoid", shape,
        *TARGET, "--centre=1,-1", "--json",
    )  # fmt: skip
    found = json.loads(out)
    assert status == 0 and found["epsilon"] <= 1.0 and found["description"]["centre"] == [1.0, -1.0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--box", "1,2"], "sensitivity or sensitivity-matrix"),
        (["--sensitivity", "1"], "box or ellipsoid"),
        (["--sensitivity", "1", "--box", "1,a"], "box must be numbers"),
        (["--sensitivity", "1", "--box", "1,-2"], "box[1]"),
        (["--sensitivity", "1", "--ellipsoid", "none.csv"], "cannot be read"),
    ],
)
def test_bad_linear_diffusions_are_refused(capsys, arguments, words):
    status, _, err = run(capsys, "mechanism", "linear", "--mu", "1", *arguments)
    assert status == 2 and words in err and "Traceback" not in err


def test_kernels_of_noise(capsys, tmp_path):
    noise = ["kernel", "gaussian", "--diameter", 1, "--noise", 0.5, "--projected"]
    before = ["--epsilon", 1, "--delta", 1e-3]
    status, out, err = run(capsys, *noise, *before, "--power", 10, "--json")
    found = json.loads(out)
    assert (status, err) == (0, "") and found["inputs"] is None
    assert 0.0 < found["dobrushin"] < 0.1 and found["delta"] < 1e-3
    status, out, _ = run(
        capsys, *noise, *before, "--target-epsilon", 0.1, "--target-delta", 1e-6, "--json"
    )
    assert status == 0 and json.loads(out)["power"] > 1
    assert json.loads(out)["curve"][2][1] <= 1e-6
    status, out, _ = run(capsys, "kernel", "laplace", "--diameter", 1, "--noise", 2, *before)
    assert status == 0 and "noise on a bounded input" in out
    status, _, err = run(capsys, "kernel", "gaussian", "--diameter", 1, *before)
    assert status == 2 and "noise and diameter" in err
    status, _, err = run(capsys, *noise[:-1], *before, "--power", 2)
    assert status == 2 and "unless projected" in err


def test_ou_needs_a_sensitivity(capsys):
    status, _, err = run(capsys, "mechanism", "brownian", "--mu", "1")
    assert status == 2 and "sensitivity must be given" in err
