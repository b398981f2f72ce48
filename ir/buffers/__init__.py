"""Buffer accesses of tensor functions: regions, matched buffers, reshapes, memory usage."""
