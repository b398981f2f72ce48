// configuration: -p normalize -o stolen.mlir
builtin.module {}
