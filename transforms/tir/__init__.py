"""Passes on scheduled tir, in pipeline order: init blocks, blocks, flat buffers, simplification."""
