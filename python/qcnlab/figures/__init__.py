"""Figures, on screen, in print and in notebooks."""
