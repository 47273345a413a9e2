"""Reports: one HTML file about a run, several runs or a sweep, that loads nothing.

`document` says what stands in it, `charts` and `network` draw, `page` has the shell, which the
demonstration's page uses too.
"""
