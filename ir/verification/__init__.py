"""What a module must be: SSA and calls (verify), and TVM's rules of well-formedness."""
