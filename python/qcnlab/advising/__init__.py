"""Advice on thresholds: settings that do well in a fabric's own traffic and in its worst cases.

`cases` derives the worst cases of a scenario, `knobs` says what is searched, `regret` compares
candidates, `searching` runs the search of `tune` over the cases, and `advice` has what came out,
`words` and `figure` show it.
"""
