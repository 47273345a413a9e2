"""Sweeps: one scenario over a grid of values, with replications, that can be stopped and resumed.

`grid` says what varies and `manifest` what the sweep is, `runs` has what has ended, `store` keeps
it in a folder with its `journal`, `running` runs what is missing, `result` is what a sweep gave,
`figure` draws it, and `command` is `qcnlab sweep`.
"""
