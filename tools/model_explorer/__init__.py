"""A Model Explorer extension that reads programs and models.

`model-explorer model.py --extensions=tirax.tools.model_explorer`: Model Explorer imports `main` of that
package.
"""
