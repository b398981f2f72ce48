"""`python -m tirax.tools.reference`."""

from . import main

main()
