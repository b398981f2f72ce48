"""Passes on scheduled tir, in their order on the way down: init blocks, blocks, flat buffers, simplification."""
