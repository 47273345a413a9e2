"""The averaging principle over a few cycles, by hand."""

from __future__ import annotations

from qcnlab.analysis import averaging_means, derivative_means


def test_cycles_of_the_averaging_principle() -> None:
    """With K = 2 an error of 1 takes 0 to -2 and back to -1: -1.5 on average, and then -1.

    An error of -1 takes -1 to 1 and back to 0: 1/2 on average.
    """
    for means in (averaging_means, derivative_means):
        assert means([1.0, 0.0, -1.0], gain=2.0).tolist() == [-1.5, -1.0, 0.5]
        assert means([1.0, 0.0, -1.0], gain=2.0, start=10.0).tolist() == [8.5, 9.0, 10.5]
        assert means([], gain=2.0).tolist() == []
