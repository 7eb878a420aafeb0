"""Watching a training run: is each step the noisy descent that would be certified?

At every step the accountant compares what the optimizer holds with what it should hold: the sum of
clipped gradients with that of a known loss on the rows and labels that the loader handed out, the
weights with those that the last step left, and the weights after the step with those of plain SGD.
Whatever differs becomes an obstacle: one line that says what.
"""

from __future__ import annotations

import hashlib
from operator import attrgetter, is_, itemgetter
from typing import Any, NamedTuple

import torch
from opacus.optimizers import DPOptimizer, DPOptimizerFastGradientClipping
from opacus.optimizers.adaclipoptimizer import AdaClipDPOptimizer
from torch.nn.modules.batchnorm import _BatchNorm

from wane.describe.domains import Domain
from wane.extra.opacus.evidence import ELSEWHERE, Evidence, Limits, Path, Witness
from wane.extra.opacus.heads import Kind, Loss, leaves, project
from wane.extra.opacus.layer import Numbers, Pass, head_of
from wane.extra.opacus.loaders import Handed, Order, Sampling
from wane.extra.torch_groups import number_of

PLAIN = ("momentum", "dampening", "nesterov", "maximize")
"""Settings of SGD that must be off."""
SETTINGS_OF_GROUP = itemgetter("lr", "weight_decay", *PLAIN)
SETTINGS = attrgetter("max_grad_norm", "noise_multiplier", "expected_batch_size", "loss_reduction")
READ = 2 + len(PLAIN) + 4
"""So many settings these two read."""
NUMBERS = frozenset({float, int, bool, str, type(None)})
"""Kinds of settings that cannot be changed in place."""
NOT_STILL = "a frozen parameter or a buffer changed during training"


class Settings(NamedTuple):
    """What a step's description needs; all groups of parameters share it."""

    step_size: float
    weight_decay: float
    clip: float
    noise_multiplier: float
    divisor: float


class Watch:
    """What was seen of one engine's training; `obstacles` says what speaks against the theorems."""

    def __init__(self, module: Any, optimizer: Any, loader: Any, sampling: Sampling) -> None:
        self.module, self.optimizer, self.sampling = module, optimizer, sampling
        self.domain: Domain | None = None
        self.handed = Handed(loader)
        self.obstacles: list[str] = []
        self.steps: list[Settings] = []
        self.norm: float | None = None
        self.unproven = False
        self.released = False
        self.passes = 1
        self._passes: list[Pass] = []
        self._calls = self._rows = 0
        self._bounded: tuple[Any, int, float] | None = None
        self._drawn = 0
        self._in_order = sampling.order is Order.FIXED
        self._path = Path()
        self._ghost = isinstance(optimizer, DPOptimizerFastGradientClipping)
        self._parameters = list(optimizer.params)
        self._numbers = Numbers(self._parameters)
        self._trained = [id(p) for p in self._parameters]
        self.head = head_of(module, set(self._trained))
        averaged = optimizer.loss_reduction == "mean"
        layer = self.head.within(self._parameters) if self.head else None
        self.witness = Witness(layer, averaged) if layer else None
        self._layer = self.head.layer if self.head else None
        self._weight_and_bias: tuple[Any, Any] = (
            self.head.weight_and_bias if self.head else (None, None)
        )
        self._mixing = [m for m in module.modules() if isinstance(m, _BatchNorm)]
        self._fixed = self._fixed_now()
        self._fingerprint: bytes | None = None
        self._versions: list[tuple[int, int]] = []
        self._raw: tuple[Any, ...] = ()
        self._hook()

    def __deepcopy__(self, memo: Any) -> Watch:
        """A copied model brings its hooks along; it is another model, and nobody watches it."""
        return self

    # what Opacus calls

    def before_step(self, optimizer: Any) -> bool:
        """Look at everything before the weights move; True if the batch is the loader's own."""
        if self.released:
            self.note("a step was taken after the release")
        same = self._has_changed_nothing(optimizer)
        if not same and not self._trains_the_same(optimizer):
            self.note("the trained parameters or the optimizer changed during training")
            return False
        if self._mixing and any(layer.training for layer in self._mixing):
            self.unproven = True
            self.note("a BatchNorm layer in training mode mixes the records of a batch")
        self._check_taken()
        ours = self._check_batch()
        settings = self.steps[-1] if same else self._settings()
        if settings is not None:
            self._check_settings(settings)
            self.steps.append(settings)
            start = None
            if not self.obstacles:
                self._check_still()
                start = self._numbers.with_gradient()
                self._path.depart(start)
            if not self.obstacles or self._ghost:
                self._check_sum(settings, start)
        self._passes.clear()
        self.handed.batches.clear()
        self._calls = self._rows = 0
        return ours

    def note(self, reason: str) -> None:
        """Keep a reason once."""
        if reason not in self.obstacles:
            self.obstacles.append(reason)

    def _note_if(self, reason: str | None) -> None:
        if reason is not None:
            # outputs from elsewhere may mix the records, whose gradients then all move together
            self.unproven = self.unproven or reason == ELSEWHERE
            self.note(reason)

    @property
    def loss(self) -> Loss | None:
        """The loss that was recognised."""
        return None if self.witness is None else self.witness.loss

    def final(self) -> tuple[str, ...]:
        """Return all obstacles, those included that only show at the end."""
        self._check_taken()
        if not self.obstacles and self.steps:
            self._note_if(self._path.settle())
        if self.witness is not None:  # whatever else differed since: a mixture is not composed
            self._note_if(self.witness.settle())
        found = list(self.obstacles)
        if found or not self.steps:
            return tuple(found)
        if not self.released and not torch.equal(self._numbers.now(), self._path.last):
            found.append("the weights are not those that the last step left")
        if _fingerprint(self._fixed_now()) != self._fingerprint:
            found.append(NOT_STILL)
        if self.loss is None:
            found.append("the batches so far do not tell which loss it is")
        return tuple(found)

    # hooks

    def _hook(self) -> None:
        self.optimizer.original_optimizer.register_step_post_hook(self._after_step)
        if self.head is None:
            self.module.register_forward_pre_hook(self._count_rows)
            self.note("what is trained is not the weight of one nn.Linear")
            return
        self.head.layer.register_forward_hook(self._after_pass)
        for bound in self.head.bounds:
            bound.tell = self._bound
        if not self.head.bounds:
            self.note("the features are not bounded; put BoundedFeatures(norm) before the layer")

    def _count_rows(self, module: Any, inputs: Any) -> None:
        first = next(leaves(inputs), None)
        if module.training and torch.is_grad_enabled() and first is not None and first.ndim:
            self._calls += 1
            self._rows += len(first)

    def _bound(self, output: Any, norm: float) -> None:
        self._bounded = (output, output._version, norm)

    def _after_pass(self, layer: Any, inputs: Any, output: Any) -> None:
        if not (layer.training and torch.is_grad_enabled()) or layer is not self._layer:
            return
        rows, known = inputs[0], self._bounded
        self._calls += 1
        self._rows += rows.shape[0]
        if known is None or rows is not known[0] or rows._version != known[1]:
            self.note("the layer's input is not what BoundedFeatures has just made")
        elif rows.ndim != 2 or rows.requires_grad:
            self.note("the features are not one row for each record, made by frozen layers")
        elif self.norm is not None and self.norm != known[2]:
            self.note("the norm of the features changed during training")
        else:
            self.norm = known[2]
        if output.requires_grad and (self._ghost or not self.obstacles):
            self._passes.append(self._pass_of(rows, output))

    def _pass_of(self, rows: Any, output: Any) -> Pass:
        if self._ghost:
            return Pass.twice(rows, output)
        assert self.witness is not None
        keeps = self.witness.place is None
        if keeps:
            output.retain_grad()
        versions = rows._version, output._version
        return Pass(rows, output, versions, self.witness.look(rows), keeps)

    def _after_step(self, *ignored: Any) -> None:
        if self.obstacles:
            return
        if not self._path.departed:
            self.note("the inner optimizer took a step of its own, without noise of its own")
            return
        now = self.steps[-1]
        wrong = self._path.arrive(now.step_size, now.weight_decay, self._numbers.now())
        if self.domain is not None:
            wrong = wrong or self._path.settle()
            stretched = now.step_size * self.sampling.size / now.divisor
            project(self._parameters, self.domain, stretched)
            self._path.restart(self._numbers.now())
        self._note_if(wrong)

    def watch_losses(self, criterion: Any) -> None:
        """See that the criterion of ghost clipping gives one number for each record.

        Opacus multiplies them by the clipping factors: a column of losses becomes a square of
        products, in which nothing is clipped.
        """
        kind = type(criterion)

        def call(this: Any, *args: Any, **options: Any) -> Any:
            made = kind.__call__(this, *args, **options)
            if made.loss_per_sample.ndim != 1:
                self._note_unclipped()
            return made

        criterion.__class__ = type(kind.__name__, (kind,), {"__call__": call})

    def _note_unclipped(self) -> None:
        self.unproven = True
        self.note("ghost clipping did not clip: a loss must have one number for each record")

    # checks

    def _fixed_now(self) -> list[Any]:
        trained = set(self._trained)
        still = [p for p in self.module.parameters() if id(p) not in trained]
        return [*still, *self.module.buffers()]

    def _check_taken(self) -> None:
        """A step that the inner optimizer left out pulled nothing together, and is none."""
        if self._path.departed and not self.obstacles:
            self.note("a step was prepared, and not taken")

    def _check_batch(self) -> bool:
        """Each step must use the batch that was drawn last, whole, once."""
        handed = self.handed
        fresh, self._drawn = handed.drawn == self._drawn + 1, handed.drawn
        sample = getattr(self._parameters[0], "grad_sample", None)
        rows, self.passes = self._rows, max(self._calls, 1)
        if isinstance(sample, list):
            rows = max(rows, sum([part.shape[0] for part in sample]))
            self.passes = max(self.passes, len(sample))
        elif sample is not None:
            rows = max(rows, sample.shape[0])
        if not fresh or rows != handed.last_size:
            self.note(
                "a step did not use the loader's batch, whole and once: another loader, a batch "
                "used twice or left out, or accumulated gradients"
            )
            return False
        if self._in_order and handed.last_place != len(self.steps) % self.sampling.per_epoch:
            self.note("an epoch of the fixed order was broken off, and the next began anew")
        return True

    def _has_changed_nothing(self, optimizer: Any) -> bool:
        """Return whether all that settings are read from is what it was at the last step."""
        before = self._raw
        if not before or optimizer is not self.optimizer:
            return False
        raw = _raw(optimizer)
        return len(raw) == len(before) and all(map(is_, raw, before))

    def _trains_the_same(self, optimizer: Any) -> bool:
        return optimizer is self.optimizer and list(map(id, optimizer.params)) == self._trained

    def _settings(self) -> Settings | None:
        optimizer = self.optimizer
        if type(optimizer) not in (DPOptimizer, DPOptimizerFastGradientClipping):
            self.note(f"clipping and noise are those of {type(optimizer).__name__}")
            if isinstance(optimizer, AdaClipDPOptimizer):
                self.unproven = True
                self.note(
                    "adaptive clipping divides a noisy count by the exact size of the batch, for "
                    "which nothing is proved"
                )
            return None
        inner = optimizer.original_optimizer
        if type(inner) is not torch.optim.SGD:
            self.note(f"the optimizer is {type(inner).__name__}, not plain SGD")
            return None
        groups = [g for g in optimizer.param_groups if any(p.requires_grad for p in g["params"])]
        for name in PLAIN:
            values = [number_of(g.get(name)) for g in groups]
            if any(values):
                self.note(f"SGD runs with {name}={next(v for v in values if v)!r}")
        alike = {(number_of(g["lr"]), number_of(g["weight_decay"])) for g in groups}
        if len(alike) != 1:
            self.note("groups of parameters have learning rates or weight decays of their own")
            return None
        ((rate, decay),) = alike
        divisor = optimizer.expected_batch_size if optimizer.loss_reduction == "mean" else 1
        numbers = rate, decay, optimizer.max_grad_norm, optimizer.noise_multiplier, divisor
        raw = _raw(optimizer)
        self._raw = raw if NUMBERS.issuperset(map(type, raw[:READ])) else ()
        return Settings(*(float(number_of(number)) for number in numbers))

    def _check_settings(self, now: Settings) -> None:
        if not self.steps or now is self.steps[-1]:
            return
        before = self.steps[-1]
        for name in ("weight_decay", "clip", "noise_multiplier", "divisor"):
            if getattr(before, name) != getattr(now, name):
                words = name.replace("_", " ")
                self.note(
                    f"the {words} changed during training: what decided so may have seen records"
                )
        if before.step_size != now.step_size and not self._has_scheduler():
            self.note(
                "the learning rate changed during training, but not by a scheduler of PyTorch that "
                "never sees a metric: what decided so may have seen records"
            )

    def _has_scheduler(self) -> bool:
        """Schedulers mark the step they count, but not ReduceLROnPlateau, which sees a metric."""
        both = (self.optimizer, self.optimizer.original_optimizer)
        return any(hasattr(o.step, "_wrapped_by_lr_sched") for o in both)

    def _check_still(self) -> None:
        versions = [(tensor.data_ptr(), tensor._version) for tensor in self._fixed]
        if self._fingerprint is None:
            self._fingerprint = _fingerprint(self._fixed)
        elif versions != self._versions:
            self.note(NOT_STILL)
        self._versions = versions

    def _check_sum(self, settings: Settings, start: Any) -> None:
        if self.head is None:
            return
        batches = self.handed.batches
        if len(batches) != len(self._passes):
            self.note("there was not exactly one pass for each batch that the loader handed out")
            return
        assert self.witness is not None
        place = self.witness.place
        labels: list[dict[int, Any]] = []
        for batch in batches:
            for leaf, version in batch:
                if leaf._version != version:
                    self.note("a batch was changed in place after the loader handed it out")
                    return
            if place is not None and place < len(batch):
                labels.append({place: batch[place][0]})
            else:
                labels.append(dict(enumerate(leaf for leaf, _ in batch)))
        passes = []
        for one in self._passes:
            seen = one.seen()
            if isinstance(seen, str):
                self.note(seen)
                return
            passes.append(seen)
        weight, bias = self._weight_and_bias
        sums = weight.summed_grad, None if bias is None else bias.summed_grad
        step = Evidence(passes, labels, *sums, start, self._rows)
        if self._ghost and not self.witness.clips(step, settings.clip):
            self._note_unclipped()
        elif not self.obstacles:
            assert self.norm is not None
            self._note_if(self.witness.see(step, Limits(settings.clip, self.norm)))

    def kind(self, clip: float) -> Kind:
        """Return what the constants of the loss depend on."""
        assert self.head is not None and self.norm is not None and self.witness is not None
        norm = self.norm
        if self.head.trains_bias:
            norm = (norm * norm + 1.0) ** 0.5 * (1.0 + 1e-15)
        return self.witness.kind(norm, clip)


def _raw(optimizer: Any) -> tuple[Any, ...]:
    """All that a step's settings are read from, if there is one group of SGD; else nothing."""
    inner = optimizer.original_optimizer
    if type(inner) is not torch.optim.SGD or len(inner.param_groups) != 1:
        return ()
    (group,) = inner.param_groups
    trained = group["params"]
    flags = [p.requires_grad for p in trained]
    return (*SETTINGS_OF_GROUP(group), *SETTINGS(optimizer), type(optimizer), *trained, *flags)


def _fingerprint(tensors: list[Any]) -> bytes:
    made = hashlib.blake2b(digest_size=16)
    for tensor in tensors:
        made.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return made.digest()
