"""What tirax is measured beside: each peer that is installed, given the same program."""
