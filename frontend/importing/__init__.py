"""Common parts of the model importers: names, errors, weights, and the report of a model's operators."""
