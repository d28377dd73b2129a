"""The command line: one public call per command. Commands import what they need when they run."""

from .app import main

__all__ = ["main"]
