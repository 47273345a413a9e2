"""`qcnlab infer`: the reading of a source's open places that serves its printed claims best.

`book/readings.toml` declares the space: what a source leaves open, with the values that are
plausible. The search runs the source's rows over it and reports the set for which most printed
claims hold, and how far that can be trusted.
"""
