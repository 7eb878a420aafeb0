"""What all private linear models share: check, plan, run, keep the release and its certificate."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from wane import arguments
from wane.arrays import Array
from wane.certificates import Certificate, Circumstances, certify, together
from wane.describe import Adjacency, Cyclic, Fact, FullBatch, NoisyDescent, ShuffledOnce
from wane.describe.choices import Batches, batches_of
from wane.describe.domains import Domain
from wane.errors import InvalidDescription
from wane.learn.bounding import Bounding, require_described, row_norm
from wane.learn.curvature import PrivateCurvature, check_curvature, with_curvature
from wane.learn.exact import exact_noise
from wane.learn.inputs import (
    Task,
    Voids,
    check_target,
    feature_scaler,
    generator,
    require_enough_records,
    seed_voids,
    surrounding_voids,
    validated,
)
from wane.learn.persons import check_rows_per_person, planned_for_persons, share_of_one_row
from wane.learn.plan import Problem, plan
from wane.learn.presented import Certified, conduct_of_linear_model, step_counter, warn
from wane.learn.resumable import accounted, public_settings
from wane.learn.saving import write_model
from wane.learn.scaling import Coordinates, FeatureScaler, OriginalUnits
from wane.learn.tuning import PublicData, refuse_private, require_public, tuned
from wane.run import Checkpoint, descend
from wane.run.linear import LinearSums
from wane.run.parts import PartedSums
from wane.tables import ClassTarget, Target

CHOICES = ("step_size", "steps", "batches", "clip", "ridge", "cool_down")
KINDS = (np.float64, np.float32)
Sums = LinearSums | PartedSums


@dataclass(frozen=True)
class Prepared:
    """A fit that is checked, planned and certified; no noise has been drawn.

    Where something is released `first`, the run stands for others like it and the certificate is a
    promise for all of them; `first` draws that noise and returns what is then run.
    """

    task: Task
    scaler: FeatureScaler
    coordinates: Coordinates
    run: NoisyDescent
    gradients: Sums
    start: Array | None
    certificate: Certificate
    first: Callable[[np.random.Generator], Prepared] | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateLinearModel(OriginalUnits, Certified, BaseEstimator):  # type: ignore[misc]
    """A linear model whose coefficients are private; everything else about it is public.

    Rows are scaled one by one: by `feature_bounds` if given, then down to norm `feature_norm` if
    longer.  `coef_` belongs to scaled rows; `predict` scales rows in the same way.

    Args:
        epsilon: the target of this fit; `certificate_` never claims less than was spent.
        delta: the probability that goes with epsilon.
        adjacency: ZERO_OUT (the default: one record made null) or REPLACE_ONE (one record exchanged
            for another, which needs about twice the noise).  The number of rows is public in both.
        rows_per_person: the most rows that one person may have, declared without looking at the
            data; epsilon and delta then protect all of them at once.
        feature_norm: bound on the norm of a row, declared without looking at the data.
        feature_bounds: public bounds (low, high), each a number or one for each column; columns are
            mapped from them to [-1, 1].  None leaves columns as they are.
        fit_intercept: whether a constant column is added.
        intercept_norm: the constant in that column.  Rows count as long as
            sqrt(feature_norm^2 + intercept_norm^2).
        warm_start: where to start: public coefficients (each output's, its intercept last), or a
            fitted estimator of the same kind, whose certificate is then composed with this fit's.
        step_size: how far a step goes; this and the next five are planned from public numbers
            alone where they are None.
        steps: how many steps are taken.
        batches: how records are chosen at each step.
        clip: the bound to which gradients are clipped.
        ridge: the weight of the squared norm of the coefficients.
        cool_down: steps at the end that use no record.
        curvature: None, or `PrivateCurvature()`: part of the budget is spent on a bound on the
            curvature of the average loss, and steps of all rows are as long as that allows.
        tune_on: None, or `PublicData(X, y)`: the settings that do best on these rows are used.
        account: an account of a `wane.ledger.Ledger`: the release is entered there before any noise
            is drawn, and refused if it would exceed the budget.
        checkpoint: a `wane.run.Checkpoint`: the fit saves itself there, sealed with a key that you
            hold, is taken up again exactly, and deletes the file when it ends.  The ledger counts
            it once.
        release_noise: None, or how much exact noise is added to the release, as a multiple of the
            noise that protects it: discrete Gaussian, sampled in whole numbers, and not repeatable.
            The certificate stays as it is; `wane.learn.exact` says what this noise gives alone.
        progress: show a bar with steps and time, which tells nothing else.
        seed_voids_privacy: a seed makes the fit repeatable and voids its certificate.

    Attributes:
        coef_, intercept_: the release, for scaled rows.
        coef_original_, intercept_original_: the same for columns in their own units.
        certificate_: what is claimed of the release; `save` writes it as a page to sign.
        run_: the description that ran.
        release_noise_: how much exact noise the release got.
        scaler_: how rows are scaled.
        n_iter_: number of steps, as planned.
        n_features_in_: number of columns.
    """

    epsilon: float = 1.0
    delta: float = 1e-5
    adjacency: Adjacency = Adjacency.ZERO_OUT
    rows_per_person: int = 1
    feature_norm: float = 1.0
    feature_bounds: Any = None
    fit_intercept: bool = True
    intercept_norm: float = 0.3
    warm_start: Any = None
    step_size: float | None = None
    steps: int | None = None
    batches: Batches | None = None
    clip: float | None = None
    ridge: float | None = None
    cool_down: int | None = None
    curvature: PrivateCurvature | None = None
    tune_on: PublicData | None = None
    account: Any = None
    checkpoint: Checkpoint | None = None
    release_noise: float | None = None
    progress: bool = False
    seed_voids_privacy: int | None = None

    words: ClassVar[str]
    """What a model card calls the model; every model has its own."""
    command: ClassVar[str | None] = None
    """The word by which `wane fit --model` offers it, if it does."""
    target: ClassVar[type[Target] | None] = None
    """The kind of target that a schema must declare for it."""

    _validation: ClassVar[dict[str, Any]] = {}

    @classmethod
    def arguments_for(cls, target: Target) -> dict[str, Any]:
        """Return what a schema's target declares as arguments of this model, or refuse it."""
        if cls.target is None or not isinstance(target, cls.target):
            wanted = "classes" if cls.target is ClassTarget else "bounds low and high"
            raise InvalidDescription(
                f"target {target.name!r:.60} must have {wanted} for {cls.words}, got the other; "
                "change the schema or --model."
            )
        return cls._declared_by(target)

    @classmethod
    def _declared_by(cls, target: Any) -> dict[str, Any]:
        raise NotImplementedError

    def fit(self, X: Any, y: Any) -> Self:
        """Fit privately.  Whatever is refused is refused before any noise is drawn.

        There are no sample weights: a weight multiplies one record's share in the model, and the
        certificate counts every record once.
        """
        ready = self._prepare(X, y)
        warn(self, ready)
        if self.tune_on is None:
            return self._finish(ready)
        refuse_private(self.tune_on, X, y)
        chosen = tuned(self, self.tune_on, records=ready.run.records)
        return self._take_over(chosen._finish(chosen._prepare(X, y)))

    def _take_over(self, fitted: PrivateLinearModel) -> Self:
        """Keep the release of a copy that was fitted with other settings."""
        for name, value in vars(fitted).items():
            if name.endswith("_"):
                setattr(self, name, value)
        return self

    def _finish(self, ready: Prepared) -> Self:
        """Run what was prepared, and keep its release."""
        exact = exact_noise(ready.run, self.release_noise)
        public = public_settings(self) | {"loss": repr(ready.task.link)}
        with accounted(self.account, ready.certificate, self.checkpoint, **public) as checkpoint:
            noise = generator(self.seed_voids_privacy)
            ready = ready if ready.first is None else ready.first(noise)
            with step_counter(ready.run.total_steps, shown=bool(self.progress)) as counter:
                end = descend(
                    ready.run,
                    ready.gradients,
                    generator=noise,
                    start=ready.start,
                    progress=counter,
                    checkpoint=checkpoint,
                )
            end = end if exact is None else exact.add(end)
        self._keep(ready, end)
        return self

    def _product(self) -> str:
        return self.words

    def _circumstances(self) -> Circumstances:
        return conduct_of_linear_model(self, self.words)

    def save_model(self, path: str | Path) -> None:
        """Write the model, its description and its certificate to one file, without pickle."""
        write_model(self, path)

    @abstractmethod
    def _task(self, y: NDArray[Any]) -> Task:
        """Return the targets made ready, or refuse them."""

    def _domain(self, coordinates: Coordinates) -> Domain | None:
        """Return the prox that ends each step, if this model has one."""
        return None

    def _prepare(self, X: Any, y: Any) -> Prepared:
        """Check everything, plan and certify; draws no noise."""
        self._check_declared()
        X, y = validated(self, X, y, dtype=KINDS, **self._validation)
        task = self._task(y)
        scaler, read = feature_scaler(self.feature_norm, self.feature_bounds, X)
        task = replace(task, voids=task.voids + read)

        def sums(bounded: Bounding) -> Sums:
            return bounded(X, task.targets)

        if self.curvature is None:
            return self._prepared(task, scaler, X.shape, sums)
        budgets = self.curvature.split(self.epsilon, self.delta)
        epsilon = budgets.epsilon(self.delta)
        ready = self._prepared(task, scaler, X.shape, sums, epsilon=epsilon, batches=FullBatch())
        return with_curvature(self, ready, budgets, X)

    def _check_declared(self) -> None:
        check_target(self.epsilon, self.delta, self.adjacency)
        if self.batches is not None:
            batches_of("batches", self.batches)
        check_rows_per_person(self.rows_per_person, alone=self.curvature is None)
        if self.fit_intercept:
            arguments.real("intercept_norm", self.intercept_norm, above=0.0)
        seed_voids(self.seed_voids_privacy)
        if self.tune_on is not None:
            require_public(self.tune_on)
        check_curvature(self)
        if self.checkpoint is not None:
            arguments.kind("checkpoint", self.checkpoint, (Checkpoint,))
        if self.release_noise is not None:
            arguments.real("release_noise", self.release_noise, above=0.0)

    def _prepared(
        self,
        task: Task,
        scaler: FeatureScaler,
        shape: tuple[int, int],
        sums: Callable[[Bounding], Sums],
        *,
        in_order: bool = False,
        **fixed: Any,
    ) -> Prepared:
        """Plan and certify for so many rows and columns, whose gradients `sums` knows how to add.

        `in_order` turns a secret order of the rows, if the plan chose one, into the order they
        have; the plan was calibrated for that.  `fixed` is for the plan.
        """
        records, columns = shape
        coordinates = Coordinates(
            columns,
            task.link.outputs,
            float(self.intercept_norm) if self.fit_intercept else 0.0,
            task.centre,
            task.unit,
        )
        run = self._planned(task, coordinates, scaler, records, **fixed)
        if in_order and self.batches is None and isinstance(run.batches, ShuffledOnce):
            run = replace(run, batches=Cyclic(run.batches.size))
        norm, bound = row_norm(scaler, coordinates), run.objective.gradient_bound
        gradients = sums(Bounding(scaler, task.link, norm, bound, coordinates.intercept))
        require_described(run.objective, gradients.objective)
        start, earlier, inherited = self._start(coordinates, scaler, task)
        voids = task.voids + seed_voids(self.seed_voids_privacy) + inherited
        voids += surrounding_voids()
        certificate = together((*earlier, self._certified(run))).void(voids)
        return Prepared(task, scaler, coordinates, run, gradients, start, certificate)

    def _planned(
        self,
        task: Task,
        coordinates: Coordinates,
        scaler: FeatureScaler,
        records: int,
        *,
        epsilon: float | None = None,
        **fixed: Any,
    ) -> NoisyDescent:
        """Return the plan; `epsilon` is the run's share if that is not all, `fixed` its choices."""
        require_enough_records(
            records,
            math.prod(coordinates.shape),
            epsilon=share_of_one_row(self.epsilon, self.delta, self.rows_per_person),
            delta=self.delta,
            adjacency=self.adjacency,
        )
        choices = {name: getattr(self, name) for name in CHOICES}
        choices["domain"] = self._domain(coordinates)
        choices |= fixed
        problem = Problem(
            link=task.link,
            records=records,
            features=coordinates.rows,
            feature_norm=row_norm(scaler, coordinates),
        )
        known = {name: value for name, value in choices.items() if value is not None}
        return planned_for_persons(
            lambda share: plan(
                problem, epsilon=share, delta=self.delta, adjacency=self.adjacency, **known
            ),
            epsilon=self.epsilon if epsilon is None else epsilon,
            delta=self.delta,
            rows_per_person=self.rows_per_person,
        )

    def _certified(self, run: NoisyDescent, facts: tuple[Fact, ...] = ()) -> Certificate:
        """Return the run's certificate; refuse a plan that does not keep epsilon."""
        found = certify(run, facts=facts).for_persons(self.rows_per_person)
        if run.adjacency is not self.adjacency or not found.epsilon(self.delta) <= self.epsilon:
            raise InvalidDescription(
                f"The plan must be private for epsilon={self.epsilon:g}, got "
                f"{found.epsilon(self.delta):g} under {run.adjacency.value}; nothing was run."
            )
        return found

    def _start(
        self, coordinates: Coordinates, scaler: FeatureScaler, task: Task
    ) -> tuple[Array | None, tuple[Certificate, ...], Voids]:
        """Return the start, the releases it rests on, and what voids these."""
        given = self.warm_start
        if given is None or given is False:
            return None, (), ()
        if given is True:
            raise InvalidDescription(
                "warm_start must be public coefficients or a fitted estimator, got True; name the "
                "model to start from, so that its privacy can be counted."
            )
        if not isinstance(given, PrivateLinearModel):
            return coordinates.start(given), (), ()
        check_is_fitted(given, "coef_")
        same = type(given) is type(self) and given.scaler_ == scaler
        if not same or not np.array_equal(getattr(given, "classes_", ()), _classes(task)):
            raise InvalidDescription(
                "warm_start must be a model of the same kind, with the same classes, feature_norm "
                "and feature_bounds."
            )
        earlier = given.certificate_
        start = coordinates.start(given._model(coordinates))
        return start, earlier.nominal.each, earlier.void_because

    def _model(self, coordinates: Coordinates) -> Array:
        """Return the coefficients, with intercepts as last column, as `warm_start` takes them."""
        coefficients = np.atleast_2d(self.coef_)
        if coordinates.rows == coordinates.features:
            return coefficients
        return np.column_stack([coefficients, np.atleast_1d(self.intercept_)])

    def _keep(self, ready: Prepared, end: Array) -> None:
        self.coef_, self.intercept_ = self._shown(*ready.coordinates.released(end))
        self.n_iter_ = ready.run.total_steps
        self.run_ = ready.run
        self.certificate_ = ready.certificate
        self.release_noise_ = self.release_noise
        self.scaler_ = ready.scaler
        if ready.task.classes is not None:
            self.classes_ = ready.task.classes

    def _shown(self, coefficients: Array, intercepts: Array) -> tuple[Any, Any]:
        """Return the two in the shapes that scikit-learn's users expect."""
        return coefficients, intercepts

    def _linear(self, X: Any) -> Array:
        """Return the linear predictors, one column for each output."""
        check_is_fitted(self, "coef_")
        rows = validated(self, X, reset=False, dtype=KINDS)
        made = self.scaler_(rows) @ np.atleast_2d(self.coef_).T + np.atleast_1d(self.intercept_)
        return np.asarray(made, dtype=np.float64)


def _classes(task: Task) -> Any:
    return () if task.classes is None else task.classes
