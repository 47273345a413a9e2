"""Sweeps: one scenario over a grid of values, with replications, that can be stopped and resumed.

`grid` says what varies, `store` keeps what has ended, `running` runs what is missing, `result` is
what a sweep gave, `figure` draws it, and `command` is `qcnlab sweep`.
"""
