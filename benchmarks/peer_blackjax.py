"""BlackJAX's kernels on the potentials of sampling_page.py; run inside BlackJAX' own environment.

Usage: peer_blackjax.py jobs.json, which prints one JSON line for each job.  A job names a kernel,
its step size, steps, chains and a file with the potential: `curvatures` of a Gaussian target, or
`features`, `labels` and `prior` of a logistic posterior.  All in double precision, without threads
for linear algebra; seconds are those of the processor.
"""

import json
import os
import sys
import time
from pathlib import Path

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"

import blackjax
import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_enable_x64", True)


def log_density(path):
    """Return the log density of one state, up to a constant."""
    given = np.load(path)
    if "curvatures" in given:
        curvatures = jnp.asarray(given["curvatures"])
        return lambda x: -0.5 * jnp.sum(curvatures * x * x), len(curvatures)
    features, labels = jnp.asarray(given["features"]), jnp.asarray(given["labels"])
    prior = float(given["prior"])

    def logistic(x):
        margins = features @ x
        return jnp.sum(labels * margins - jnp.logaddexp(0.0, margins)) - 0.5 * prior * x @ x

    return logistic, features.shape[1]


def sgld(density, step_size):
    """SGLD whose only batch is all rows: the unadjusted Langevin algorithm."""
    gradient = jax.grad(density)
    kernel = blackjax.sgld(lambda x, batch: gradient(x))

    def step(key, state):
        state = kernel.step(key, state, (), step_size)
        return state, (state, 1.0)

    return kernel.init, step


def mala(density, step_size):
    kernel = blackjax.mala(density, step_size)

    def step(key, state):
        state, info = kernel.step(key, state)
        return state, (state.position, info.acceptance_rate)

    return kernel.init, step


KERNELS = {"sgld": sgld, "mala": mala}


def run(job):
    """Run all chains; compiling is timed apart."""
    density, dimension = log_density(job["potential"])
    first, step = KERNELS[job["kernel"]](density, job["step_size"])
    shape = (job["chains"], dimension)
    keep = job.get("paths")

    def one(key, position):
        def body(carried, key):
            state, (position, accepted) = step(key, carried[0])
            return (state, position), (position if keep else jnp.zeros(0), accepted)

        keys = jax.random.split(key, job["steps"])
        (_, last), (path, accepted) = jax.lax.scan(body, (first(position), position), keys)
        return last, path, accepted.mean()  # the last state is returned, or nothing would be run

    begin, key = jax.random.split(jax.random.key(job["seed"]))
    starts = jnp.sqrt(job["start_variance"]) * jax.random.normal(begin, shape)
    keys = jax.random.split(key, job["chains"])
    before = time.process_time()
    compiled = jax.jit(jax.vmap(one)).lower(keys, starts).compile()
    between = time.process_time()
    _, paths, accepted = jax.block_until_ready(compiled(keys, starts))
    after = time.process_time()
    if keep:
        np.save(keep, np.asarray(paths))
    return {
        "name": job["name"],
        "version": blackjax.__version__,
        "compile_seconds": between - before,
        "seconds": after - between,  # of the processor
        "accepted": float(accepted.mean()),
    }


def main():
    for job in json.loads(Path(sys.argv[1]).read_text()):
        print(json.dumps(run(job)), flush=True)


if __name__ == "__main__":
    main()
