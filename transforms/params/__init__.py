"""What a function is given: parameters and sizes bound to values, weights prepared ahead of time or on demand."""
