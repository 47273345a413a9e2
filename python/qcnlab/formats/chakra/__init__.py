"""Chakra execution traces, and the files of ASTRA-sim and SimAI beside them."""
