"""Sweeps over the models of PyTorch's libraries: `python -m tirax.dev.models`."""
