"""Passes for code generators and libraries: what they take becomes functions of their own, which they compile."""
