"""Runs StableHLO's test programs: `python -m tirax.dev.stablehlo DIRECTORY`."""
