"""Extensions of tirax."""
