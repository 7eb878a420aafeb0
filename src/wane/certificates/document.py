"""The certificate as one versioned JSON document, as `certificate.schema.json` lays down.

Beside the theorem it says how the run was carried out, and by whose word.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
from dataclasses import asdict, dataclass, replace
from datetime import date
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from wane._version import __version__
from wane.certificates import wording
from wane.certificates.analyse import composition_of
from wane.certificates.calibration import Calibrated
from wane.certificates.certificate import Certificate, delta_for, together
from wane.certificates.parts import epsilon_of, gaussian_mu_of, json_number, power_of, zcdp_of
from wane.certificates.wording import EarlierReleases, ExactNoise, NoiseSource
from wane.describe import NoisyDescent, StatedRelease
from wane.describe.fields import description_to_fields
from wane.errors import InvalidDescription, NoTheoremApplies
from wane.theorems.theorem import Applies, Basis, Finding, Verdict

MOST_LETTERS = 200
"""Of a name on the page to sign, so that the page stays one."""


@dataclass(frozen=True, kw_only=True)
class Particulars:
    """What the page to sign says of the release and its holder; empty where nobody said it.

    Attributes:
        product: what was made, in a few words.
        dataset: the public name of the records.
        organisation, responsible: who holds the records, and who answers for the release.
        date: when it was made, as YYYY-MM-DD.
    """

    product: str = ""
    dataset: str = ""
    organisation: str = ""
    responsible: str = ""
    date: str = ""

    def __post_init__(self) -> None:
        for name, text in asdict(self).items():
            if not isinstance(text, str) or len(text) > MOST_LETTERS:
                raise InvalidDescription(
                    f"{name} must be a text of at most {MOST_LETTERS} letters, got {text!r:.60}."
                )
        if self.date:
            try:
                date.fromisoformat(self.date)
            except ValueError:
                raise InvalidDescription(
                    f"date must be written as YYYY-MM-DD, got {self.date!r:.60}."
                ) from None

    def to_fields(self) -> dict[str, str]:
        """Return what was said."""
        return {name: text for name, text in asdict(self).items() if text}


@dataclass(frozen=True)
class Circumstances:
    """What a certificate says beside its theorem.

    Attributes:
        noise: where the noise came from.
        released: what is released, in the words of whoever released it; beside it the
            document says the same of the iterates.
        origin: where the constants of the losses come from.
        declared: who vouches for what the description declares.
        tuning: what choosing the settings cost.
        voids: why there is no privacy after all, if there is none.
        context: public facts to file with the certificate, such as the hash of a schema.
        grid: the release was rounded to multiples of this; 0 if it was not rounded.
        exact: exact noise that was added to the release, if any was.
        earlier: what a ledger holds of the same records; None if no ledger was kept.
        files: name and SHA-256 of every file that is released with the document.
        particulars: what was made, of which data set, by whom and when, as far as it was said.
    """

    noise: NoiseSource = NoiseSource.NOT_RUN
    released: str = ""
    origin: str = "declared in the description"
    declared: str = Basis.DECLARED.meaning
    tuning: str = wording.NO_TUNING
    voids: tuple[str, ...] = ()
    context: tuple[tuple[str, str], ...] = ()
    grid: float = 0.0
    exact: ExactNoise | None = None
    earlier: EarlierReleases | None = None
    files: tuple[tuple[str, str], ...] = ()
    particulars: Particulars = Particulars()

    def to_fields(self) -> dict[str, Any]:
        """Return what the document says of how it was carried out."""
        made: dict[str, Any] = {
            "released_as": self.released,
            "rounding": {
                "grid": self.grid,
                "exact_noise": None if self.exact is None else asdict(self.exact),
            },
            "numerics": wording.numerics(self.grid, self.exact),
            "noise": {"source": self.noise.value, "meaning": self.noise.meaning},
            "tuning": self.tuning,
            "earlier_releases": (
                wording.UNKNOWN_EARLIER if self.earlier is None else self.earlier.to_fields()
            ),
            "context": dict(self.context),
            "files": dict(self.files),
        }
        if self.particulars != Particulars():
            made["particulars"] = self.particulars.to_fields()
        return made


FROM_DESCRIPTION = Circumstances()
"""Nothing was run: a certificate of a description alone."""


FORMAT = "wane-certificate"
VERSION = 1
DELTAS = tuple(10.0**power for power in range(-12, 0))
RATES = (1e-4, 1e-3, 1e-2)
"""False-positive rates at which an attacker's power is listed."""
ROC = tuple(sorted({*(10.0 ** (-sixth / 6) for sixth in range(37)), *RATES, 0.5}))
"""Those at which it is drawn: six to a decade, which a printed line needs to look smooth."""


def certificate_document(
    certificate: Certificate,
    *,
    delta: float | None = None,
    epsilon: float | None = None,
    circumstances: Circumstances = FROM_DESCRIPTION,
) -> dict[str, Any]:
    """Return everything a certificate says at one delta (or at one epsilon) as JSON-ready data."""
    circumstances = replace(circumstances, voids=_voids(certificate, circumstances))
    certificate = certificate.nominal
    if delta is None:
        if epsilon is None:
            raise InvalidDescription("delta must be given, or epsilon; got neither.")
        delta = delta_for(certificate, epsilon)
    last = _last_run(certificate)
    ran = circumstances.noise.ran
    made = {
        "format": FORMAT,
        "version": VERSION,
        "title": circumstances.noise.title,
        "status": "void" if circumstances.voids else "certified",
        "void_because": list(circumstances.voids),
        **certificate_fields(last, delta=delta, ran=ran),
        **_whole(certificate, delta),
        "unit": wording.unit_words(certificate.rows_per_person),
        "rows_per_person": certificate.rows_per_person,
        **_words(last, delta, circumstances, _sampler(certificate)),
        "releases": _releases(certificate, delta),
        **circumstances.to_fields(),
        **_sampler(certificate),
        **_stated(certificate),
        "description": description_to_fields(last.run),
        "configuration_sha256": configuration_hash(certificate),
        "versions": _versions(),
    }
    return _sealed(_void(made) if circumstances.voids else made)


def _words(
    last: Certificate, delta: float, circumstances: Circumstances, sampler: dict[str, Any]
) -> dict[str, Any]:
    """Return what the last release is and rests on, in words, letters and constants."""
    ran = circumstances.noise.ran
    return {
        "adjacency_meaning": wording.adjacency_words(last.run),
        "released": wording.released_words(last.run),
        "secret": wording.secrets_of(last.run),
        "statement": wording.theorem_fields(last.best(delta).theorem),
        "symbols": wording.symbol_rows(last.run),
        "constants": wording.constant_rows(
            last.run,
            circumstances.origin,
            ran=ran,
            sampler=sampler.get("sampler"),
            facts=last.facts,
        ),
        "bases": wording.basis_words(circumstances.declared, ran),
    }


def with_files(document: dict[str, Any], hashes: dict[str, str]) -> dict[str, Any]:
    """Return the document with the SHA-256 of every file that is released with it, sealed anew."""
    return _sealed(document | {"files": hashes})


def is_sealed(document: dict[str, Any]) -> bool:
    """Return whether the document's own hash is that of all else it says."""
    return bool(document.get("document_sha256") == _sealed(document)["document_sha256"])


def _sealed(document: dict[str, Any]) -> dict[str, Any]:
    whole = {name: value for name, value in document.items() if name != "document_sha256"}
    return whole | {"document_sha256": _sha256(whole)}


def certificate_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) that every certificate document meets."""
    raw = (files("wane.certificates") / "certificate.schema.json").read_text(encoding="utf-8")
    made: dict[str, Any] = json.loads(raw)
    return made


def configuration_hash(certificate: Certificate) -> str:
    """Return SHA-256 of the descriptions, which depend on no record, in canonical JSON."""
    described = [
        _side_fields(part.description)
        if isinstance(part.description, StatedRelease)
        else description_to_fields(part.description)
        for part in certificate.parts
    ]
    if _stated(certificate):
        described.append(_stated(certificate))
    if _sampler(certificate):
        described.append(_sampler(certificate))
    if certificate.rows_per_person != 1:
        described.append({"rows_per_person": certificate.rows_per_person})
    return _sha256(described)


def _stated(certificate: Certificate) -> dict[str, Any]:
    """Return the field of the facts of all runs; empty if there are none."""
    found = certificate.facts
    return {"facts": [fact.to_fields() for fact in found]} if found else {}


def _sampler(certificate: Certificate) -> dict[str, Any]:
    """Return what was sampled, if the one release is chains that are a descent together."""
    sampled = certificate.parts[0].sampled
    if sampled is None or len(certificate.parts) > 1:
        return {}
    return {"sampler": sampled.sampler.to_fields()}


def _sha256(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _voids(certificate: Certificate, circumstances: Circumstances) -> tuple[str, ...]:
    """Return why nothing is claimed, by the certificate or by the circumstances."""
    return tuple(dict.fromkeys((*certificate.void_because, *circumstances.voids)))


def _last_run(certificate: Certificate) -> Certificate:
    """Return the run whose end is the release; what came before it was only accounted with it."""
    runs = [one for one in certificate.each if not isinstance(one.run, StatedRelease)]
    if not runs:
        raise NoTheoremApplies("A certificate document needs a run, got side releases only.")
    return runs[-1]


def _whole(certificate: Certificate, delta: float) -> dict[str, Any]:
    """Return what is claimed of all parts together."""
    joint: dict[str, Any] = {}
    if len(certificate.parts) > 1:
        joint = {"composition_epsilon": json_number(_composed(certificate, delta))}
    guarantee = certificate.guarantee_at(delta)
    roc = [
        {"false_positive_rate": rate, "true_positive_rate": power_of(guarantee, rate)}
        for rate in ROC
    ]
    return joint | {
        "epsilon": json_number(certificate.epsilon(delta)),
        "mu": json_number(gaussian_mu_of(guarantee)),
        "zcdp": json_number(zcdp_of(guarantee)),
        "curve": [_point(certificate, at) for at in sorted({*DELTAS, delta} - {0.0, 1.0})],
        "attack": [row for row in roc if row["false_positive_rate"] in RATES],
        "advantage": certificate.delta(0.0),
        "roc": roc,
    }


def _composed(certificate: Certificate, delta: float) -> float | None:
    """Return epsilon with every iterate of every run released; None if nothing is known of that."""
    try:
        return together(
            composition_of(one.run).for_persons(one.rows_per_person)
            if isinstance(one.run, NoisyDescent)
            else one
            for one in certificate.each
        ).epsilon(delta)
    except NoTheoremApplies:
        return None


def _point(certificate: Certificate, delta: float) -> dict[str, Any]:
    return {"delta": delta, "epsilon": json_number(certificate.epsilon(delta))}


def _releases(certificate: Certificate, delta: float) -> list[dict[str, Any]]:
    """A row for each release; several runs are described one by one, a single one is already."""
    rows = [_release(one, delta) for one in certificate.each]
    if len(rows) > 1:
        for row, part in zip(rows, certificate.parts, strict=True):
            if not isinstance(part.description, StatedRelease):
                row["description"] = description_to_fields(part.description)
    return rows


def _release(one: Certificate, delta: float) -> dict[str, Any]:
    if isinstance(one.run, StatedRelease):
        return {
            "what": one.run.name,
            "source": one.run.source,
            "epsilon": json_number(one.epsilon(delta)),
            "guarantee": _level(one.run),
        }
    return {
        "what": wording.released_words(one.run),
        "source": str(one.best(delta).theorem.source),
        "epsilon": json_number(one.epsilon(delta)),
    }


def _side_fields(release: StatedRelease) -> dict[str, Any]:
    """Return what the fingerprint covers of a release that is no run."""
    named = {"name": release.name, "source": release.source, "adjacency": release.adjacency.value}
    return named | {"guarantee": _level(release)}


def _level(release: StatedRelease) -> dict[str, float] | None:
    """A stated release's Gaussian parameter and how likely it fails; None if it is not so."""
    if release.mu is None:
        return None
    return {"mu": release.mu, "failure": release.failure}


def _versions() -> dict[str, str]:
    libraries = {name: version(name) for name in ("numpy", "scipy")}
    return {"wane": __version__, "python": platform.python_version(), **libraries}


def _void(made: dict[str, Any]) -> dict[str, Any]:
    """Take every claim back: nothing that is still written may be read as a guarantee."""
    nothing = {"epsilon": None, "mu": None}
    return made | {
        "epsilon": "infinity",
        "mu": None,
        "zcdp": None,
        "composition_epsilon": "infinity",
        "curve": [],
        "attack": [row | {"true_positive_rate": 1.0} for row in made["attack"]],
        "advantage": 1.0,
        "roc": [],
        "verdicts": [verdict | nothing for verdict in made["verdicts"]],
        "releases": [_taken_back(release) for release in made["releases"]],
    }


def _taken_back(release: dict[str, Any]) -> dict[str, Any]:
    claims = {"epsilon": "infinity", "guarantee": None}
    return release | {name: value for name, value in claims.items() if name in release}


def certificate_fields(
    certificate: Certificate,
    *,
    delta: float | None = None,
    epsilon: float | None = None,
    ran: bool = False,
) -> dict[str, Any]:
    """Return what a certificate says at one delta (or at one epsilon) as JSON-ready data.

    A hypothesis that a runner enforces is only declared as long as nothing `ran`.
    """
    if epsilon is not None:
        delta = delta_for(certificate, epsilon)
    assert delta is not None
    best = certificate.best(delta)
    return {
        "epsilon": json_number(epsilon_of(best.conclusion, delta)),
        "delta": delta,
        "mu": json_number(gaussian_mu_of(best.conclusion)),
        "theorem": best.theorem.name,
        "citation": str(best.theorem.source),
        "adjacency": certificate.run.adjacency.value,
        "release": description_to_fields(certificate.run)["release"],
        "composition_epsilon": json_number(composition_epsilon(certificate, delta)),
        "lower_bound_epsilon": json_number(certificate.lower_bound_epsilon(delta)),
        "verdicts": verdict_fields(certificate, delta, ran=ran),
    }


def verdict_fields(
    certificate: Certificate, delta: float, *, ran: bool = False
) -> list[dict[str, Any]]:
    """Return every theorem's answer as JSON-ready data."""
    return [_verdict(v, delta, ran) for v in certificate.verdicts]


def bracket_fields(certificate: Certificate, delta: float) -> dict[str, Any]:
    """Return lower and upper bounds on epsilon and mu, and their ratios (None if not known)."""
    lower, upper = certificate.bracket(delta)
    lower_mu, upper_mu = certificate.bracket_mu(delta)
    return {
        "delta": delta,
        "lower_epsilon": json_number(lower),
        "upper_epsilon": json_number(upper),
        "ratio": _ratio(lower, upper),
        "lower_mu": json_number(lower_mu) if upper_mu is not None else None,
        "upper_mu": json_number(upper_mu),
        "mu_ratio": _ratio(lower_mu, upper_mu),
        "theorem": certificate.best(delta).theorem.name,
        "adjacency": certificate.run.adjacency.value,
    }


def _ratio(lower: float | None, upper: float | None) -> float | None:
    if lower is None or upper is None or not lower > 0.0 or not math.isfinite(upper):
        return None
    return upper / lower


def calibrated_fields(result: Calibrated[Any], delta: float) -> dict[str, Any]:
    """Return a calibrated run, its certificate and the value that was searched for."""
    return {
        **certificate_fields(result.certificate, delta=delta),
        "description": description_to_fields(result.run),
        "value": result.value,
        "over": result.over.value,
        "limited": result.limited,
        "note": result.note or None,
        "target": {"words": str(result.goal), "reached": json_number(result.reached)},
    }


def composition_epsilon(certificate: Certificate, delta: float) -> float | None:
    """Return epsilon of the same run with every iterate released; None if nothing applies."""
    if not isinstance(certificate.run, NoisyDescent):
        return None
    try:
        composed = composition_of(certificate.run).for_persons(certificate.rows_per_person)
        return composed.epsilon(delta)
    except NoTheoremApplies:
        return None


def _verdict(verdict: Verdict[Any], delta: float, ran: bool) -> dict[str, Any]:
    made: dict[str, Any] = {
        "theorem": verdict.theorem.name,
        "citation": str(verdict.theorem.source),
        "applies": isinstance(verdict, Applies),
        "epsilon": None,
        "mu": None,
        "hypotheses": [_finding(f, ran) for f in verdict.findings],
        "obstacles": [],
    }
    if isinstance(verdict, Applies):
        made["epsilon"] = json_number(epsilon_of(verdict.conclusion, delta))
        made["mu"] = json_number(gaussian_mu_of(verdict.conclusion))
    else:
        made["obstacles"] = [_finding(f, ran) for f in verdict.obstacles]
    return made


def _finding(finding: Finding, ran: bool) -> dict[str, Any]:
    enforced = finding.basis is Basis.ENFORCED
    basis = Basis.DECLARED if enforced and not ran else finding.basis
    return {
        "statement": finding.statement,
        "holds": finding.holds,
        "because": finding.because,
        "remedy": finding.remedy,
        "basis": basis.value,
    }
