"""Rewrites of relax operators into equivalent ones that are cheaper, or simpler."""
