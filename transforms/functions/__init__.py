"""What passes on several functions share: who calls whom, and what a call makes of symbolic variables."""
