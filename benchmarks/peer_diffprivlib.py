"""diffprivlib on one prepared data set; run by learning.py inside its own environment.

Usage: peer_diffprivlib.py data.npz settings.json, which prints one JSON line for each fit.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from diffprivlib.models import LogisticRegression

warnings.filterwarnings("ignore")


def main() -> None:
    data = np.load(sys.argv[1])
    settings = json.loads(Path(sys.argv[2]).read_text())
    for setting in settings:
        start = time.process_time()
        model = LogisticRegression(
            epsilon=setting["epsilon"],
            data_norm=1.0,
            C=setting["C"],
            fit_intercept=False,
            max_iter=setting.get("max_iter", 1000),
            random_state=setting["seed"],
        )
        model.fit(data["train_features"].astype(np.float64), data["train_labels"])
        found = model.score(data["test_features"].astype(np.float64), data["test_labels"])
        line = {**setting, "accuracy": found, "seconds": time.process_time() - start}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
