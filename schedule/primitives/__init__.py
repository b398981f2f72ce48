"""The primitives, a family a file. Importing a file registers what is in it."""
