"""Changing IR: substitution, copies, walks."""
