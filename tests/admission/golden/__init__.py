"""Runs the golden cases through a real API server: see ../README.md."""
