"""Squared moduli of steps as the proofs have them, in fifty digits."""

import mpmath

mp = mpmath.mp.clone()
mp.dps = 50
DISTANCES = [1e-9, 1e-3, 0.05, 0.3, 0.999, 1.0, 1.4, 1.7, 6.0, 40.0, 1e5]


def near(found, exact, hair="1e-11"):
    return exact <= found <= exact * (1 + mp.mpf(hair))


# squares of distances after a step, from those before


def affine(c, h=0):
    return lambda w: mp.mpf(c) * w + mp.mpf(h)


def refined(eta, p, M, G=mp.inf):
    """w + eta^2 s^2 - 2 eta times the least inner product of a change s of the gradient."""
    eta, p, M, G = (mp.mpf(x) for x in (eta, p, M, G))

    def psi(w):
        s = min((eta / 2) ** (p / (1 - p)) * M ** (1 / (1 - p)), M * w ** (p / 2), G)
        return w + eta**2 * s**2 - 4 * eta * p / (1 + p) * M ** (-1 / p) * s ** ((1 + p) / p)

    return psi


def monotone(eta, p, M, G=mp.inf):
    eta, p, M, G = (mp.mpf(x) for x in (eta, p, M, G))
    return lambda w: w + min(eta * M * w ** (p / 2), eta * G) ** 2


def triangle(eta, p=1, M=mp.inf, G=mp.inf):
    eta, p, M, G = (mp.mpf(x) for x in (eta, p, M, G))
    return lambda w: (mp.sqrt(w) + min(eta * M * w ** (p / 2), eta * G)) ** 2


def smallest(*psis):
    return lambda w: min(psi(w) for psi in psis)
