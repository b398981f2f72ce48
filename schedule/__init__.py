"""Schedules: how the loops of a tir function are arranged."""
