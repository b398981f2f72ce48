"""`python -m tirax.dev.reference`."""

from . import main

main()
