"""What Relax functions and operators mean, in numpy: an operator family a file."""
