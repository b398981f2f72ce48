"""Passes of TVM's API that no pipeline, importer or pattern of tirax runs, in folders as in `transforms/`."""
