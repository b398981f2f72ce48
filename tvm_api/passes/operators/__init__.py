"""Rewrites of Relax operators into equivalent ones."""
