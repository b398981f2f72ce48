"""Fuzzers: random programs, schedules, texts and files, each checked against its semantics."""
