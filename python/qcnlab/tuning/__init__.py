"""Tuning: find the parameters that make a metric small or large, over a set of conditions.

`space` says what is searched, `goals` what is wanted, `result` what came out, `searching` asks
Optuna for trials and runs them as sweeps, and `command` is `qcnlab tune`.
"""
