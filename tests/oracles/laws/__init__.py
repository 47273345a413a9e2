"""Second implementations of the schemes' laws, for the tests.

Each module is written from its source (deck, paper or outline) and from the readings that the
documents declare (`docs/concepts/readings.md`, `docs/schemes`), and not from the Rust code. Rates
are floats in bit/s, times are nanoseconds, sizes are octets. Nothing is drawn: the scripts set
every jitter to zero, and say a range where a time stays random.
"""
