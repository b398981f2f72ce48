"""Layout passes: the layout in which an operator computes, and where tensors change layouts."""
