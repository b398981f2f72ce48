"""Fuzzers: programs, schedules, texts and files at random, each checked by its meaning."""
