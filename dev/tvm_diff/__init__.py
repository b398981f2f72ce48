"""The differential harness: our programs through the passes of tirax and of Apache TVM, and the same text from both."""
