"""GOAL schedules of LogGOPSim and ATLAHS: text and binary, read and written."""
