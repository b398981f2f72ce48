"""The default schedule for CPUs, which optimizes tir functions without tuning."""
