// An example of each operation of the dialect.

func.func private @each((i64) -> (), i64)

func.func private @body(%i: i64) {
  func.return
}

func.func @loop(%n: i64) {
  %f = func.constant @body : (i64) -> ()
  func.call @each(%f, %n) : ((i64) -> (), i64) -> ()
  func.return
}
