"""Handles specific to TVM's API: script builders, visitors, data types, layouts."""
