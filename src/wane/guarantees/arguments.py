"""The constraints on arguments of guarantees, each with its cure."""

from __future__ import annotations

from typing import Annotated

from wane.arguments import Real, Whole

level = Real(least=0.0, finite=False, cure="use inf for no privacy at all")
epsilon = Real(least=0.0, finite=False, cure="a smaller epsilon is more private")
probability = Real(least=0.0, most=1.0, cure="a delta is usually far below 1/records")
renyi_order = Real(above=1.0, finite=False, cure="use 1 + 1e-6 to come close to Kullback-Leibler")
count = Whole(least=1, cure="use int(...)")

Level = Annotated[float, level]
Probability = Annotated[float, probability]
RenyiOrder = Annotated[float, renyi_order]
Count = Annotated[int, count]
