"""What importers of models share: names, errors, and the report of what a model uses."""
