"""Passes that replace operators by implementations in other layouts."""
