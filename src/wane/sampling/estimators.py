"""Statistics by private sampling, in the style of scikit-learn; needs the extra `learn`."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from wane import arguments
from wane.arrays import Array
from wane.certificates import Circumstances, certify
from wane.describe import Adjacency
from wane.describe.posterior import Losses, Posterior
from wane.errors import InvalidDescription
from wane.learn.inputs import (
    Task,
    check_target,
    class_task,
    feature_scaler,
    generator,
    seed_voids,
    surrounding_voids,
    validated,
)
from wane.learn.presented import ENFORCED, Certified, entered, noise_of, step_counter
from wane.learn.scaling import Coordinates, FeatureScaler, TargetScaler
from wane.losses import LogCosh, Logistic, Softmax
from wane.run import release_grid
from wane.sampling.posterior_samples import Distances, Wish, distances, draw, plan_posterior
from wane.sampling.sums import (
    ChainSums,
    LinearChainSums,
    LocationChainSums,
    MeanChainSums,
    linear_losses,
    location_losses,
    mean_losses,
    total_norm,
)

__all__ = ["PosteriorLinearRegression", "PosteriorLogisticRegression", "PosteriorMean"]


@dataclass(kw_only=True, eq=False, repr=False)
class SamplingEstimator(Certified, BaseEstimator):  # type: ignore[misc]
    """An estimate that is a private sample; everything else about it is public.

    Args:
        epsilon, delta: what all samples of one fit together may cost.
        adjacency: ZERO_OUT (the default: one record made null) or REPLACE_ONE (one record exchanged
            for another).  The number of rows is public in both.
        feature_norm: bound on the norm of a row, declared without looking at the data; longer rows
            are scaled down.
        n_samples: how many independent samples are drawn and released; they share the budget.
        prior_precision: of the normal prior, whose covariance is the identity over it.
        temperature: of the posterior; None for the lowest that is private enough.
        order, distance: each sample's law is certified to be within this Renyi divergence of the
            posterior, in both directions; the fewest steps that achieve it are planned.
        step_size, steps: given together they replace the plan; `distance_` is then what it is.
        account: an account of a `wane.ledger.Ledger`: the release is entered there before any noise
            is drawn, and refused if the budget does not suffice.
        progress: show bars with steps and time, which tell nothing else.
        seed_voids_privacy: a seed makes the fit repeatable and voids its certificate.

    Attributes:
        certificate_: privacy of everything released; `save` writes it as a page to sign.
        distance_: how far each sample's law is from the posterior.
        sampling_: what ran: posterior, step size, steps, samples.
        run_: the same as a descent.
        temperature_: of the posterior that was sampled.
        n_iter_: number of steps.
    """

    epsilon: float = 1.0
    delta: float = 1e-5
    adjacency: Adjacency = Adjacency.ZERO_OUT
    feature_norm: float = 1.0
    n_samples: int = 1
    prior_precision: float = 1.0
    temperature: float | None = None
    order: float = 2.0
    distance: float = 0.1
    step_size: float | None = None
    steps: int | None = None
    account: Any = None
    progress: bool = False
    seed_voids_privacy: int | None = None

    def _check_parameters(self) -> None:
        check_target(self.epsilon, self.delta, self.adjacency)
        arguments.real("feature_norm", self.feature_norm, above=0.0)
        arguments.whole("n_samples", self.n_samples, least=1)
        if self.temperature is not None:
            arguments.real("temperature", self.temperature, above=0.0)
        seed_voids(self.seed_voids_privacy)

    def _wish(self, *, unit: float = 1.0, coldest: float = 1.0) -> Wish:
        """Return what is asked for; a temperature of one counts `unit` in the losses' own units."""
        return Wish(
            epsilon=self.epsilon,
            delta=self.delta,
            samples=int(self.n_samples),
            order=self.order,
            distance=self.distance,
            temperature=None if self.temperature is None else self.temperature * unit,
            coldest=coldest * unit,
            step_size=self.step_size,
            steps=self.steps,
            progress=bool(self.progress),
        )

    def _sampled(
        self, losses: Losses, sums: ChainSums, wish: Wish, voids: tuple[str, ...], unit: float = 1.0
    ) -> Array:
        """Plan, certify, run, and keep all but the samples, which are returned; one row each."""
        posterior = Posterior(
            losses=losses,
            records=sums.records,
            prior_precision=self.prior_precision,
            adjacency=self.adjacency,
        )
        run = plan_posterior(posterior, wish)
        voids += seed_voids(self.seed_voids_privacy) + surrounding_voids()
        certificate = certify(run).void(voids)
        with (
            entered(self.account, certificate),
            step_counter(run.steps, shown=bool(self.progress)) as counter,
        ):
            chance = generator(self.seed_voids_privacy)
            end = draw(run, sums, generator=chance, progress=counter)
        self.certificate_, self.run_, self.sampling_ = certificate, run.descent, run
        self.temperature_ = run.posterior.temperature / unit
        self.n_iter_ = run.steps
        return end

    def _many(self) -> str:
        count = int(self.n_samples)
        return "a posterior sample" if count == 1 else f"{count} posterior samples"

    def _circumstances(self) -> Circumstances:
        chains = int(self.n_samples)
        many = f"{chains} independent chains" if chains > 1 else "one chain"
        each = " each" if chains > 1 else ""
        return Circumstances(
            noise=noise_of(self),
            released=(
                f"The last state of {many} of {self.n_iter_} steps{each}, {self._released()}, "
                "and nothing else."
            ),
            origin="worked out by wane for the loss and the public feature norm",
            declared=ENFORCED,
            voids=self.certificate_.void_because,
            grid=release_grid(self.run_),
        )

    def _released(self) -> str:
        """Return what the states are, in a few words."""
        raise NotImplementedError

    @property
    def distance_(self) -> Distances:
        """How far each sample's law is from the posterior; certified when it is asked for."""
        check_is_fitted(self, "sampling_")
        return distances(self.sampling_, self.order)


@dataclass(kw_only=True, eq=False, repr=False)
class PosteriorLinearModel(SamplingEstimator):
    """A linear model whose coefficients are samples from its posterior.

    Args:
        feature_bounds: public bounds (low, high) that columns are mapped from to [-1, 1], as in
            `wane.learn`; None leaves columns as they are.
        fit_intercept, intercept_norm: whether a constant column is added, and its constant.

    Attributes:
        coef_samples_, intercept_samples_: the release, samples first.
        coef_, intercept_: the sample itself, or the average of several.
    """

    feature_bounds: Any = None
    fit_intercept: bool = True
    intercept_norm: float = 1.0

    _validation: ClassVar[dict[str, Any]] = {}

    def fit(self, X: Any, y: Any) -> Self:
        """Sample privately.  Whatever is refused is refused before any noise is drawn."""
        self._check_parameters()
        X, y = validated(self, X, y, dtype=np.float64, **self._validation)
        task = self._task(y)
        scaler, voids = feature_scaler(self.feature_norm, self.feature_bounds, X)
        intercept = 0.0
        if self.fit_intercept:
            intercept = arguments.real("intercept_norm", self.intercept_norm, above=0.0)
        coordinates = Coordinates(X.shape[1], task.link.outputs, intercept, task.centre, task.unit)
        losses = linear_losses(
            task.link,
            columns=coordinates.rows,
            feature_norm=total_norm(scaler.feature_norm, intercept),
            target_bound=1.0,
        )
        sums = LinearChainSums(
            scaler(X),
            task.targets,
            task.link,
            feature_norm=scaler.feature_norm,
            intercept=intercept,
        )
        unit = self._unit()
        end = self._sampled(losses, sums, self._wish(unit=unit), task.voids + voids, unit)
        self._keep(end, coordinates, scaler, task)
        return self

    def _released(self) -> str:
        count = self.coef_.size + (self.intercept_.size if self.fit_intercept else 0)
        return f"{count} coefficients, intercepts included"

    @abstractmethod
    def _task(self, y: NDArray[Any]) -> Task:
        """Return the targets made ready, or refuse them."""

    def _unit(self) -> float:
        """Return the losses' own temperature at which the posterior is the Bayesian one."""
        return 1.0

    def _keep(
        self, end: Array, coordinates: Coordinates, scaler: FeatureScaler, task: Task
    ) -> None:
        pairs = [coordinates.released(sample) for sample in end]
        self.coef_samples_ = np.stack([coefficients for coefficients, _ in pairs])
        self.intercept_samples_ = np.stack([intercepts for _, intercepts in pairs])
        self.coef_ = self.coef_samples_.mean(axis=0)
        self.intercept_ = self.intercept_samples_.mean(axis=0)
        self.scaler_ = scaler
        if task.classes is not None:
            self.classes_ = task.classes

    def _linear(self, X: Any) -> Array:
        """Return every sample's linear predictors, with axes sample, row and output."""
        check_is_fitted(self, "coef_samples_")
        rows = self.scaler_(validated(self, X, reset=False, dtype=np.float64))
        made = np.einsum("nd,skd->snk", rows, self.coef_samples_, optimize=True)
        return np.asarray(made + self.intercept_samples_[:, None, :], dtype=np.float64)


@dataclass(kw_only=True, eq=False, repr=False)
class PosteriorMean(SamplingEstimator):
    """The mean of the rows, or with `width` a centre that outliers hardly move.

    Rows are shortened to `feature_norm`, measured from `centre`.  The estimate is as cold, that is
    as sharp, as privacy allows.

    Args:
        centre: a public guess, one number for each column; None for the origin.
        width: distances beyond this count linearly (Huber's centre); None for the mean.  It needs a
            `prior_precision` above zero.

    Attributes:
        samples_: the release, one row for each sample.
        mean_: the sample itself, or the average of several.

    Example:
        >>> import numpy as np
        >>> from wane.sampling.estimators import PosteriorMean
        >>> rows = np.tile([0.3, -0.2], (5000, 1))
        >>> model = PosteriorMean(epsilon=1.0, feature_norm=1.0).fit(rows)
        >>> bool(np.linalg.norm(model.mean_ - [0.3, -0.2]) < 0.1)
        True
    """

    prior_precision: float = 0.0
    centre: Any = None
    width: float | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Estimate privately.  Whatever is refused is refused before any noise is drawn."""
        self._check_parameters()
        X = validated(self, X, dtype=np.float64)
        middle = self._centre(X.shape[1])
        with np.errstate(all="ignore"):  # a warning would tell of a row
            losses, sums = self._model(X - middle)
        end = self._sampled(losses, sums, self._wish(coldest=0.0), ())
        self.samples_ = end + middle
        self.mean_ = self.samples_.mean(axis=0)
        return self

    def _product(self) -> str:
        return f"{self._many()} of a mean"

    def _released(self) -> str:
        return f"{self.mean_.size} numbers"

    def _centre(self, columns: int) -> Array:
        middle = np.zeros(columns) if self.centre is None else np.array(self.centre, dtype=float)
        if middle.shape != (columns,) or not np.isfinite(middle).all():
            raise InvalidDescription(
                f"centre must be {columns} finite numbers, got {self.centre!r:.60}."
            )
        return middle

    def _model(self, rows: Array) -> tuple[Losses, ChainSums]:
        columns, norm = rows.shape[1], float(self.feature_norm)
        if self.width is None:
            return mean_losses(dimension=columns, norm=norm), MeanChainSums(rows, norm=norm)
        return (
            location_losses(dimension=columns, norm=norm, width=self.width),
            LocationChainSums(rows, norm=norm, width=self.width),
        )


@dataclass(kw_only=True, eq=False, repr=False)
class PosteriorLogisticRegression(ClassifierMixin, PosteriorLinearModel):  # type: ignore[misc]
    """Logistic regression whose coefficients are private samples from the posterior.

    Three classes or more use the softmax loss, never clipped.  With several samples,
    `predict_proba` averages their probabilities, which is the posterior predictive distribution.

    Args:
        classes: every label that may occur, declared without looking at the data.

    Attributes:
        classes_: the declared classes.

    Example:
        >>> import numpy as np
        >>> from wane.sampling.estimators import PosteriorLogisticRegression
        >>> X = np.linspace(-0.7, 0.7, 500).reshape(-1, 1)
        >>> model = PosteriorLogisticRegression(epsilon=2.0, classes=(0, 1), prior_precision=20.0)
        >>> model = model.fit(X, (X[:, 0] > 0.0).astype(int))
        >>> bool(model.certificate_.epsilon(1e-5) <= 2.0)
        True
    """

    classes: Any = None

    def _product(self) -> str:
        return f"{self._many()} of a logistic regression"

    def _task(self, y: NDArray[Any]) -> Task:
        return class_task(y, self.classes, lambda n: Logistic() if n == 2 else Softmax(n))

    def predict_proba(self, X: Any) -> Array:
        """Return each class's probability, averaged over the samples."""
        made = self._linear(X)
        if made.shape[2] == 1:
            positive = expit(made[:, :, 0]).mean(axis=0)
            return np.column_stack([1.0 - positive, positive])
        return np.asarray(softmax(made, axis=2).mean(axis=0))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row."""
        places = self.predict_proba(X).argmax(axis=1)
        found: NDArray[Any] = self.classes_[places]
        return found


@dataclass(kw_only=True, eq=False, repr=False)
class PosteriorLinearRegression(RegressorMixin, PosteriorLinearModel):  # type: ignore[misc]
    """Linear regression whose coefficients are private samples from the posterior.

    The likelihood is close to normal near the regression line and falls off exponentially beyond
    `width` (the hyperbolic secant's), since a normal one lets a single record pull without limit.

    Args:
        target_bound: a number B for targets within [-B, B], or a pair (low, high), declared without
            looking at the data; targets beyond are moved to the nearest bound.
        width: residuals beyond this share of half the targets' range count linearly.
        noise_std: deviation of the targets' noise, in the same unit; at temperature one the
            posterior is the Bayesian one for it.

    Example:
        >>> import numpy as np
        >>> from wane.sampling.estimators import PosteriorLinearRegression
        >>> X = np.linspace(-0.7, 0.7, 500).reshape(-1, 1)
        >>> model = PosteriorLinearRegression(epsilon=2.0, target_bound=1.0, prior_precision=99.0)
        >>> model = model.fit(X, X[:, 0])
        >>> bool(model.certificate_.epsilon(1e-5) <= 2.0)
        True
    """

    target_bound: Any = None
    width: float = 0.5
    noise_std: float = 0.25

    _validation: ClassVar[dict[str, Any]] = {"y_numeric": True}

    def _product(self) -> str:
        return f"{self._many()} of a linear regression"

    def _task(self, y: NDArray[Any]) -> Task:
        if self.target_bound is None:
            raise InvalidDescription(
                "target_bound must be given, got None; declare what the targets cannot exceed, "
                "since reading it from the data would show it."
            )
        scaler = TargetScaler.from_bound(self.target_bound, 1, centred=bool(self.fit_intercept))
        return Task(
            scaler(y),
            LogCosh(self.width),
            tuple(scaler.centre.tolist()),
            tuple(scaler.half_width.tolist()),
        )

    def _unit(self) -> float:
        return arguments.real("noise_std", self.noise_std, above=0.0) ** 2

    def predict(self, X: Any) -> Array:
        """Return each row's predicted target, averaged over the samples."""
        return np.asarray(self._linear(X)[:, :, 0].mean(axis=0))
