// An example of each operation of the dialect.

func.func @classified(%x: f32, %v: vector<4xf32>) {
  %nan = math.isnan %x : f32
  %infinite = math.isinf %v : vector<4xf32>
  %finite = math.isfinite %v : vector<4xf32>
  func.return
}
