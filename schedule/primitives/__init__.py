"""The primitives, one family per file. Importing a file registers its primitives."""
