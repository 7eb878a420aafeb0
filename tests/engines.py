"""One real PrivacyEngine with everything it is given; keywords replace what is usual."""

import copy
import math
import warnings
from importlib.util import find_spec

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from opacus import PrivacyEngine

from wane.extra.opacus import (
    CompositionFallback,
    HiddenStateAccountant,
    bounded_head,
    register_hidden_state,
)
from wane.guarantees import GaussianDP

DELTA = 1e-5
NOISE, CLIP, RATE, DECAY = 1.5, 0.8, 0.5, 0.05
BINARY = (30, 1, nn.BCEWithLogitsLoss())
TEN = (64, 10, nn.CrossEntropyLoss())
QUIET = (
    "ignore:Secure RNG",
    "ignore:Full backward hook",
    "ignore:Using a non-full backward hook",
    "ignore:Optimal order is the",
)


def tumours():
    from sklearn import datasets

    x, y = datasets.load_breast_cancer(return_X_y=True)
    x = (x / x.max(axis=0)).astype(np.float32)  # a test may look at its data
    return TensorDataset(torch.from_numpy(x), torch.from_numpy(y.astype(np.float32)[:, None]))


def digits():
    from sklearn import datasets

    x, y = datasets.load_digits(return_X_y=True)
    return TensorDataset(torch.from_numpy((x / 16.0).astype(np.float32)), torch.from_numpy(y))


def composed(steps, per_epoch, sensitivity=1.0, noise=NOISE):
    """Gaussian composition of a record's own visits, from first principles."""
    mu = sensitivity * math.sqrt(math.ceil(steps / per_epoch)) / noise
    return GaussianDP(mu).epsilon(DELTA)


def engine_with(accountant):
    """An engine; Opacus 1.5 has no registry, and is given wane's accountant."""
    if accountant == "hidden-state" and find_spec("opacus.accountants.registry") is None:
        made = PrivacyEngine()
        made.accountant = HiddenStateAccountant()
        return made
    return PrivacyEngine(accountant=accountant)


needs_1_6 = pytest.mark.skipif(
    find_spec("opacus.accountants.registry") is None, reason="Opacus 1.5 has no such option"
)


class Training:
    """An engine with its accountant, model, optimizer and loader."""

    def __init__(
        self,
        dataset,
        kind=BINARY,
        *,
        size=64,
        norm=1.5,
        bias=False,
        optimizer=torch.optim.SGD,
        clip=CLIP,
        noise=NOISE,
        settings=None,
        loader=None,
        loader_options=None,
        poisson=False,
        module=None,
        declared=None,
        accountant="hidden-state",
        **engine,
    ):
        features, outputs, criterion = kind
        self.criterion = copy.deepcopy(criterion)  # ghost clipping changes it
        self.head = bounded_head(features, outputs, feature_norm=norm, bias=bias)
        if declared:
            register_hidden_state(head=self.head, **declared)
        given = DataLoader(dataset, batch_size=size, **(loader_options or {}))
        model = self.head if module is None else module(self.head)
        settings = {"lr": RATE, "weight_decay": DECAY} if settings is None else settings
        made = optimizer([p for p in model.parameters() if p.requires_grad], **settings)
        self.engine = engine_with(accountant)
        found = self.engine.make_private(
            module=model,
            optimizer=made,
            data_loader=given if loader is None else loader,
            criterion=self.criterion,
            noise_multiplier=noise,
            max_grad_norm=clip,
            poisson_sampling=poisson,
            **engine,
        )
        self.model, self.optimizer, self.loader = found[0], found[1], found[-1]
        self.criterion = found[2] if len(found) == 4 else self.criterion
        self.accountant = self.engine.accountant

    def step(self, x, y, loss=None):
        self.optimizer.zero_grad()
        (self.criterion if loss is None else loss)(self.model(x), y).backward()
        self.optimizer.step()

    def epochs(self, count=2, every=None, loss=None):
        for epoch in range(count):
            for x, y in self.loader:
                self.step(x, y, loss)
            if every is not None:
                every(epoch)
        return self

    def falls_back(self, *reasons):
        """Epsilon by composition, after one warning that names the reasons."""
        with pytest.warns(CompositionFallback) as caught:
            epsilon = self.engine.get_epsilon(DELTA)
        assert len(caught) == 1
        for reason in reasons:
            assert reason in str(caught[0].message), caught[0].message
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert self.engine.get_epsilon(DELTA) == epsilon  # warned of once
        return epsilon

    def certified(self):
        """Epsilon of the last iterate, without a warning."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            epsilon = self.engine.get_epsilon(DELTA)
        assert self.accountant.obstacles == ()
        return epsilon
