"""Default schedules for CPUs: what makes a tir function fast without tuning."""
