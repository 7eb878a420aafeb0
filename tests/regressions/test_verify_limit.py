"""`wane verify` ends in time, also on a file that was made to keep it busy."""

import json
import signal
import time

import pytest

import wane
from wane.certificates import certificate_document
from wane.cli import main


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="the system has no alarms")
def test_verify_gives_up_with_words_and_status_one(tmp_path, capsys):
    run = wane.NoisyDescent(
        objective=wane.Objective(gradient_bound=1.0, smoothness=1.0, strong_convexity=0.0),
        records=1000,
        steps=200,
        step_size=0.1,
        noise=wane.GradientNoise(0.3),
        batches=wane.Poisson(10),
    )
    place = tmp_path / "certificate.json"
    place.write_text(json.dumps(certificate_document(wane.certify(run), delta=1e-6)))
    before, handler = time.monotonic(), signal.getsignal(signal.SIGALRM)
    assert main(["verify", str(place), "--seconds", "0.05"]) == 1
    assert time.monotonic() - before < 10.0
    assert "no verdict within 0.05 seconds" in capsys.readouterr().out
    assert signal.getsignal(signal.SIGALRM) is handler
    assert main(["verify", str(place), "--seconds", "-1"]) == 2
