// An example of each operation of the dialect that tirax adds to.

func.func @numbers(%n: index) -> tensor<?xindex> {
  %x = tensor.generate %n {
  ^bb0(%i: index):
    tensor.yield %i : index
  } : tensor<?xindex>
  func.return %x : tensor<?xindex>
}
