"""Polynomials with the highest power first, on the imaginary axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]


def tidy(coefficients: Sequence[float] | Array) -> Array:
    """Return the coefficients as floats without leading zeros."""
    trimmed = np.trim_zeros(np.atleast_1d(np.asarray(coefficients, dtype=float)), "f")
    return trimmed if trimmed.size else np.zeros(1)


def product(*factors: Sequence[float] | Array) -> Array:
    """Return the product of polynomials."""
    result = np.ones(1)
    for factor in factors:
        result = np.polymul(result, np.asarray(factor, dtype=float))
    return tidy(result)


def total(*terms: Sequence[float] | Array) -> Array:
    """Return the sum of polynomials."""
    result = np.zeros(1)
    for term in terms:
        result = np.polyadd(result, np.asarray(term, dtype=float))
    return tidy(result)


def squared_size(polynomial: Array) -> Array:
    """Return |P(jw)|^2 as a polynomial in x = w^2."""
    rising = polynomial[::-1] * np.resize([1.0, 1.0, -1.0, -1.0], polynomial.size)
    real, imaginary = rising[0::2][::-1], rising[1::2][::-1]
    if imaginary.size == 0:
        return product(real, real)
    return total(product(real, real), product(imaginary, imaginary, [1.0, 0.0]))


def natural_frequency(polynomial: Array) -> float:
    """Return the geometric mean of the nonzero roots' absolute values; 1 if there are none."""
    body = np.trim_zeros(polynomial, "b")
    if body.size < 2:
        return 1.0
    return float(abs(body[-1] / body[0]) ** (1.0 / (body.size - 1)))


def stretched(polynomial: Array, by: float) -> Array:
    """Return the coefficients of P(by * s)."""
    return polynomial * by ** np.arange(polynomial.size - 1, -1, -1, dtype=float)


def positive_roots(polynomial: Array) -> Array:
    """Return the real roots above 0, rising."""
    if polynomial.size < 2:
        return np.zeros(0)
    roots = np.roots(polynomial)
    real = roots.real[(np.abs(roots.imag) <= 1e-9 * np.abs(roots)) & (roots.real > 0)]
    return np.sort(real)
