"""What tensor functions read and write: regions, matched buffers, reshapes, memory."""
