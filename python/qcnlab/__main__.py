"""`python -m qcnlab` is the `qcnlab` command."""

from qcnlab.cli import main

main()
