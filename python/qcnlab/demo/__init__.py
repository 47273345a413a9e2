"""The demonstration: deck 001's hotspot, six ways to control it, at two round-trip times.

`cells` says what is run and has the table, `figures` draws, `report` writes the page, and `running`
does it all in a folder.
"""

INDEX = "demo.json"
"""The file that tells a demonstration's folder from others."""
