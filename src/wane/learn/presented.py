"""What an estimator says of itself: its docstring, its words in a notebook, its certificate.

A fit warns from public facts alone, and shows a bar that tells the number of steps.

A parameter is described once, in the class that declares it; `help` shows all of them on every
estimator, as a reader of scikit-learn expects.
"""

from __future__ import annotations

import inspect
import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import date
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sklearn.utils.validation import check_is_fitted

from wane.certificates import (
    Certificate,
    Circumstances,
    ExactNoise,
    NoiseSource,
    Particulars,
    certificate_document,
    certificate_from_fields,
    certificate_to_fields,
    certify,
    composition_of,
    in_html,
    in_lines,
    save_document,
)
from wane.describe import Cyclic, FullBatch, ShuffledOnce
from wane.describe.choices import adjacency_of, batches_of
from wane.errors import InvalidDescription, NothingGained, PrivacyWarning, UnscaledFeatures
from wane.learn.exact import exact_guarantee
from wane.report.text import round_up_to
from wane.run import DiscreteGaussian, release_grid

if TYPE_CHECKING:
    from wane.learn.base import Prepared, PrivateLinearModel


SECTIONS = ("Args", "Attributes", "Example")
_OWN: dict[type, dict[str, str]] = {}


def completed(kind: type) -> str | None:
    """Return the class's docstring with the inherited entries of its sections behind its own."""
    own = _OWN[kind] = _sections(kind.__dict__.get("__doc__") or "")
    if not own[""]:
        return None
    parts = [own[""]]
    for name in SECTIONS[:2]:
        entries = "\n".join(_entries(name, kind))
        parts += [f"{name}:\n{entries}"] if entries else []
    if own["Example"]:
        parts.append(f"Example:\n{own['Example']}")
    return "\n\n".join(parts) + "\n"


def _sections(text: str) -> dict[str, str]:
    """Return the opening under an empty name, then each section that there is."""
    pieces = re.split(rf"^({'|'.join(SECTIONS)}):\n", inspect.cleandoc(text), flags=re.M)
    found = dict(zip(pieces[1::2], pieces[2::2], strict=True))
    return {"": pieces[0].strip()} | {name: found.get(name, "").rstrip() for name in SECTIONS}


def _entries(section: str, kind: type) -> Iterable[str]:
    """Entries of the class and of its ancestors; one that a class describes again is left out."""
    seen: set[str] = set()
    for one in kind.__mro__:
        text = _OWN.get(one, {}).get(section, "")
        for entry in re.split(r"\n(?=    \S)", text) if text else ():
            names = {name.strip() for name in entry.partition(":")[0].split(",")}
            if not names <= seen:
                yield entry
            seen |= names


WORDS = {"adjacency": adjacency_of, "batches": batches_of}
"""Settings of estimators that may be given by the word the command line has for them."""
MOST_LETTERS = 300
"""Of the settings, in a repr."""


class Certified:
    """Short words in a notebook, a page to sign in a file, and a whole docstring.

    A setting that is given as a word becomes what the word names, whenever it is set; a word that
    names nothing is refused by `fit`, as scikit-learn asks.  The certificate is pickled as the
    releases that it speaks of; they are certified again when read.
    """

    delta: float
    seed_voids_privacy: int | None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__doc__ = completed(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in WORDS and isinstance(value, str):
            with suppress(InvalidDescription):
                value = WORDS[name](name, value)
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        if "certificate_" in state:
            state = state | {"certificate_": certificate_to_fields(state["certificate_"])}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "certificate_" in state:
            state = state | {"certificate_": certificate_from_fields(state["certificate_"])}
        super().__setstate__(state)  # type: ignore[misc]

    def __repr__(self, N_CHAR_MAX: int = MOST_LETTERS) -> str:
        words = " ".join(super().__repr__(N_CHAR_MAX).split())  # type: ignore[call-arg]
        if "certificate_" not in vars(self):
            return words
        return f"{words}\n{in_lines(vars(self)['certificate_'], self.delta)}"

    def _repr_html_(self) -> str:
        """Return the settings and, once fitted, the verdict, the curve and the reason."""
        settings, *_ = repr(self).splitlines()
        certificate = vars(self).get("certificate_")
        unfitted = certificate is None
        shown = "<p>Not fitted.</p>" if unfitted else in_html(certificate, self.delta)
        return f"<p><code>{escape(settings)}</code></p>{shown}"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def to_json(self, delta: float | None = None, **particulars: str) -> str:
        """Return the certificate document of this fit as JSON; see `save`."""
        return json.dumps(self._document(delta, particulars), indent=2, allow_nan=False)

    def save(self, path: str | Path, delta: float | None = None, **particulars: str) -> None:
        """Write the certificate of this fit, as a page to sign (.html) or a document (.json).

        `particulars` are what page one names: `dataset`, `organisation`, `responsible`.  The model
        itself is written by `save_model`, where there is one.
        """
        save_document(self._document(delta, particulars), path)

    def plot(self, axis: Any = None) -> Any:
        """Draw what is certified of this fit against delta; return matplotlib's axis."""
        check_is_fitted(self, "certificate_")
        return vars(self)["certificate_"].plot(axis)

    def _document(self, delta: float | None, given: dict[str, str]) -> dict[str, Any]:
        check_is_fitted(self, "certificate_")
        named = {"product": self._product(), "date": date.today().isoformat()} | given
        try:
            particulars = Particulars(**named)
        except TypeError:
            raise InvalidDescription(
                "particulars must be dataset, organisation, responsible, product or date, got "
                f"{', '.join(given)!r:.80}."
            ) from None
        return certificate_document(
            vars(self)["certificate_"],
            delta=self.delta if delta is None else delta,
            circumstances=replace(self._circumstances(), particulars=particulars),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.non_deterministic = self.seed_voids_privacy is None
        tags.input_tags.sparse = True
        return tags

    def _product(self) -> str:
        """Return what was released, in a few words."""
        raise NotImplementedError

    def _circumstances(self) -> Circumstances:
        """Return how this fit was carried out."""
        raise NotImplementedError


class Account(Protocol):
    """Where releases are entered before their noise is drawn, as an account of a ledger does."""

    def spend(
        self,
        certificate: Certificate,
        **more: Any,
    ) -> AbstractContextManager[object]:
        """Enter the release, or refuse it; leaving the context confirms it.

        A `run` with a name is entered once, however often it is taken up again.
        """
        ...


def entered(
    account: Account | None,
    certificate: Certificate,
    **more: Any,
) -> AbstractContextManager[object]:
    """Return the context in which a release may happen; `more` is for `Account.spend`."""
    return nullcontext() if account is None else account.spend(certificate, **more)


WEAK = 10.0
"""An epsilon above which a guarantee says little."""
_GAIN = 0.99


def warn(model: PrivateLinearModel, ready: Prepared) -> None:
    """Warn of what is likely to be a mistake, before anything is drawn."""
    records = ready.run.records
    if model.delta > 1.0 / records:
        _say(
            f"delta = {round_up_to(model.delta)} exceeds 1/records = {1.0 / records:.3g}: "
            "releasing one record at random would meet it; choose delta well below 1/records."
        )
    if model.epsilon > WEAK:
        _say(
            f"epsilon = {round_up_to(model.epsilon)} is above {WEAK:g}: the guarantee says little."
        )
    if model.feature_bounds is None:
        _say(
            "feature_bounds is not declared: columns are used in their own units and rows are "
            f"shortened to feature_norm = {model.feature_norm:g}, so that a column of large "
            "numbers drowns the others; declare public bounds, or use wane.learn.PublicScaler.",
            UnscaledFeatures,
        )
    _warn_of_no_gain(model, ready)


def _warn_of_no_gain(model: PrivateLinearModel, ready: Prepared) -> None:
    if not isinstance(ready.run.batches, FullBatch | Cyclic | ShuffledOnce):
        return  # sampled batches gain whenever they fade at all, and asking twice takes long
    certificate = _certificate(ready)
    hidden = certificate.epsilon(model.delta)
    seen = composition_of(ready.run).for_persons(certificate.rows_per_person).epsilon(model.delta)
    if hidden > _GAIN * seen:
        _say(
            f"hidden state gains nothing here: epsilon is {round_up_to(hidden)} whether or not all "
            f"{ready.run.total_steps} iterates are published, as other accountants assume. A "
            "larger ridge, sampled batches or a longer run gain.",
            NothingGained,
        )


def _certificate(ready: Prepared) -> Certificate:
    """The run's own certificate; where something comes first, there is only a promise so far."""
    at_hand = (one for one in ready.certificate.nominal.each if one.run == ready.run)
    return next(at_hand, None) or certify(ready.run)


def _say(words: str, kind: type[PrivacyWarning] = PrivacyWarning) -> None:
    warnings.warn(words, kind, stacklevel=4)


@contextmanager
def step_counter(steps: int, *, shown: bool) -> Iterator[Callable[[int], None] | None]:
    """Yield what a run tells its progress to, or None if nobody wants to see it."""
    if not shown:
        yield None
        return
    from tqdm import tqdm

    with tqdm(total=steps, unit="step", leave=False) as bar:

        def told(done: int) -> None:
            bar.update(done - bar.n)

        yield told


ENFORCED = "worked out by wane when it wrote the description, and enforced while running"


def noise_of(model: Any) -> NoiseSource:
    """Return where the noise of a fit came from."""
    seeded = model.seed_voids_privacy is not None
    return NoiseSource.SEED if seeded else NoiseSource.OPERATING_SYSTEM


def conduct_of_linear_model(model: Any, words: str) -> Circumstances:
    """Return how a linear model was fitted; what choosing its settings cost is not known here."""
    count = model.coef_.size
    count += getattr(model.intercept_, "size", 1) if model.fit_intercept else 0
    known: dict[str, Any] = (
        {} if model.tune_on is None else {"tuning": str(model.tune_on.statement)}
    )
    return Circumstances(
        noise=noise_of(model),
        released=(
            f"The {count} coefficients of {words}, intercepts included: the last iterate "
            f"of {model.run_.total_steps} steps, and nothing else."
        ),
        origin=f"worked out by wane for the loss of {words} and the public feature norm",
        declared=ENFORCED,
        voids=model.certificate_.void_because,
        grid=release_grid(model.run_),
        exact=_exact(model, count),
        **known,
    )


def conduct_of_mean(model: Any) -> Circumstances:
    """Return how a mean was computed."""
    return Circumstances(
        noise=noise_of(model),
        released=f"The mean of {model.mean_.size} columns, after one noisy step; nothing else.",
        origin="worked out by wane for squared distances and the public feature norm",
        declared=ENFORCED,
        voids=model.certificate_.void_because,
        grid=release_grid(model.run_),
    )


def _exact(model: Any, count: int) -> ExactNoise | None:
    """Return the exact noise of the release; what it gives alone is claimed unless all is void.

    Nor is it claimed for a fit that began at an earlier release, which has no such noise.
    """
    times, certificate = model.release_noise_, model.certificate_
    if times is None:
        return None
    noise = DiscreteGaussian.on_release(model.run_, times)
    alone = exact_guarantee(model.run_, times, count, rows_per_person=certificate.rows_per_person)
    started_on_a_release = len(certificate.nominal.each) > 1
    if alone is None or certificate.void_because or started_on_a_release:
        return ExactNoise(noise.std, model.delta)
    return ExactNoise(noise.std, model.delta, round_up_to(alone.epsilon(model.delta)))
