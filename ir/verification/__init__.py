"""Verification of modules: SSA form and calls (verify), and TVM's rules of well-formedness."""
