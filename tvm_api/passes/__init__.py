"""Passes of TVM's API that tirax itself does not use, in folders as in `transforms/`."""
