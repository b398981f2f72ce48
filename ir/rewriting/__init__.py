"""IR rewriting: substitution, copies, walks."""
