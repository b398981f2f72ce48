"""What a pass is, sequences of passes, and the context in which they run."""
