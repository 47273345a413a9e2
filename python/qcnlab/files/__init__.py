"""Folders and files that appear whole or not at all, and what may be overwritten."""
