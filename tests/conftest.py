"""How tests are run, and the description they share."""

import os
from collections.abc import Callable

import pytest
from hypothesis import settings

from runs import make_run
from trust.tally import (  # noqa: F401
    pytest_sessionfinish,
    pytest_terminal_summary,
    pytest_testnodedown,
)
from wane.describe import NoisyDescent

# unattended runs try the same examples each time; run without CI set to look for new ones
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None)  # a busy machine is no failure
settings.load_profile("ci" if os.environ.get("CI") else "search")


def pytest_configure(config: pytest.Config) -> None:
    if os.environ.get("WANE_VERIFY_ALL"):
        from trust import collected  # needs the extra `verify`

        collected.start(config)


@pytest.fixture(scope="session")
def run_with() -> Callable[..., NoisyDescent]:
    return make_run
