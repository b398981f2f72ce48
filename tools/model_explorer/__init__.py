"""An extension of Model Explorer that reads programs and models.

`model-explorer model.py --extensions=tirax.tools.model_explorer`: it imports `main` of the package that it is told.
"""
