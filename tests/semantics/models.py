"""Models written by hand, and programs that stand for mistakes that were made: the parameters and body of `main`."""

from __future__ import annotations

HEAD = """from tvm.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @R.function
    def main(
        """

MODELS: dict[str, str] = {
    "mlp": """x: R.Tensor(("n", 6), "float32"),
        w1: R.Tensor((6, 5), "float32"),
        b1: R.Tensor((5,), "float32"),
        w2: R.Tensor((3, 5), "float32"),
        b2: R.Tensor((3,), "float32")
    ) -> R.Tensor(("n", 3), "float32"):
        n = T.int64()
        with R.dataflow():
            h = R.nn.relu(R.add(R.matmul(x, w1), b1))
            y = R.nn.softmax(R.add(R.matmul(h, R.permute_dims(w2)), b2))
            R.output(y)
        return y""",
    "self_attention": """x: R.Tensor(("n", 4), "float32"),
        wq: R.Tensor((4, 4), "float32"),
        wk: R.Tensor((4, 4), "float32"),
        wv: R.Tensor((4, 4), "float32")
    ) -> R.Tensor(("n", 4), "float32"):
        n = T.int64()
        with R.dataflow():
            q = R.permute_dims(R.reshape(R.matmul(x, wq), R.shape([n, 2, 2])), axes=[1, 0, 2])
            k = R.permute_dims(R.reshape(R.matmul(x, wk), R.shape([n, 2, 2])), axes=[1, 2, 0])
            v = R.permute_dims(R.reshape(R.matmul(x, wv), R.shape([n, 2, 2])), axes=[1, 0, 2])
            s = R.nn.softmax(R.multiply(R.matmul(q, k), R.const(0.7, "float32")), axis=-1)
            o = R.reshape(R.permute_dims(R.matmul(s, v), axes=[1, 0, 2]), R.shape([n, 4]))
            y = R.add(x, o)
            R.output(y)
        return y""",
    "residual": """x: R.Tensor(("n", 4), "float32"),
        w: R.Tensor((4, 4), "float32"),
        g: R.Tensor((4,), "float32"),
        b: R.Tensor((4,), "float32")
    ) -> R.Tensor(("n", 4), "float32"):
        n = T.int64()
        with R.dataflow():
            a = R.nn.layer_norm(x, g, b, axes=[-1], epsilon=0.01)
            c = R.add(x, R.nn.gelu(R.matmul(a, w)))
            d = R.nn.layer_norm(c, g, b, axes=[-1], epsilon=0.01)
            e = R.add(c, R.nn.silu(R.matmul(d, w)))
            R.output(e)
        return e""",
    "pooling": """x: R.Tensor(("n", 2, 4, 4), "float32"),
        w: R.Tensor((8, 3), "float32")
    ) -> R.Tensor(("n", 3), "float32"):
        n = T.int64()
        with R.dataflow():
            t = R.reshape(x, R.shape([n, 2, 2, 2, 2, 2]))
            p = R.max(t, axis=[3, 5])
            f = R.reshape(R.nn.relu(p), R.shape([n, 8]))
            y = R.matmul(f, w)
            R.output(y)
        return y""",
    "embedding": """table: R.Tensor((4, 3), "float32"),
        ids: R.Tensor(("n", "m"), "int64")
    ) -> R.Tensor(("n", 3), "float32"):
        n = T.int64()
        m = T.int64()
        with R.dataflow():
            e = R.take(table, ids, axis=0)
            y = R.mean(e, axis=[1])
            R.output(y)
        return y""",
    "gated": """x: R.Tensor(("n", 4), "float16"),
        w: R.Tensor((4, 8), "float16")
    ) -> R.Tensor(("n", 4), "float16"):
        n = T.int64()
        with R.dataflow():
            h = R.matmul(x, w, out_dtype="float32")
            s = R.split(h, 2, axis=1)
            y = R.astype(R.multiply(s[0], R.sigmoid(s[1])), "float16")
            R.output(y)
        return y""",
    "empty_product": """x: R.Tensor((3, "n"), "float32")
    ) -> R.Tensor((3,), "float32"):
        n = T.int64()
        y = R.prod(x, axis=[1])
        return y""",
    "neg_zero_cse": """x: R.Tensor(("n",), "float32")
    ) -> R.Tuple(R.Tensor(("n",), "float32"), R.Tensor(("n",), "float32")):
        with R.dataflow():
            a = R.divide(x, R.const(0.0, "float32"))
            b = R.divide(x, R.const(-0.0, "float32"))
            t = (a, b)
            R.output(t)
        return t""",
    "match_cast_in_dead_dataflow": """x: R.Tensor(("n",), "float32"),
        y: R.Tensor("float32", ndim=1)
    ) -> R.Tensor("float32", ndim=1):
        n = T.int64(); m = T.int64()
        with R.dataflow():
            z = R.match_cast(y, R.Tensor((m,), "float32"))
            R.output(z)
        w = R.ones(R.shape([m]), "float32")
        return w""",
    "return_param": """x: R.Tensor(("n",), "float32")
    ) -> R.Tensor(("n",), "float32"):
        return x""",
    "return_tuple_param_twice": """x: R.Tensor(("n",), "float32")
    ) -> R.Tuple(R.Tensor(("n",), "float32"), R.Tensor(("n",), "float32")):
        return (x, x)""",
    "return_const": """x: R.Tensor(("n",), "float32")
    ) -> R.Tensor((2,), "float32"):
        return R.const([1.0, 2.0], "float32")""",
    "tuple_of_tuples": """t: R.Tuple(
            R.Tensor(("n",), "float32"), R.Tuple(R.Tensor(("n",), "float32"), R.Tensor((), "float32")))
    ) -> R.Tuple(R.Tuple(R.Tensor(("n",), "float32"), R.Tensor((), "float32")),
            R.Tensor(("n",), "float32")):
        n = T.int64()
        with R.dataflow():
            a = t[1][0]
            b = R.add(a, t[0])
            c = R.multiply(b, t[1][1])
            R.output(c)
        return (t[1], c)""",
    "shape_param": """x: R.Tensor(("n",), "float32"),
        s: R.Shape(["m", 2])
    ) -> R.Tensor(("m", 2), "float32"):
        m = T.int64()
        y = R.ones(R.shape([m, 2]), "float32")
        return y""",
    "prim_param": """x: R.Tensor(("n",), "float32"),
        m: R.Prim(value="m")
    ) -> R.Tensor(("m",), "float32"):
        m = T.int64()
        y = R.ones(R.shape([m]), "float32")
        return y""",
    "reuse_output": """x: R.Tensor(("n",), "float32")
    ) -> R.Tuple(R.Tensor(("n",), "float32"), R.Tensor(("n",), "float32")):
        n = T.int64()
        with R.dataflow():
            a = R.exp(x)
            b = R.add(a, a)
            R.output(a, b)
        with R.dataflow():
            c = R.multiply(a, b)
            R.output(c)
        return (c, b)""",
    "outer_product_dims": """x: R.Tensor(("n",), "float32"),
        y: R.Tensor(("n + 1",), "float32")
    ) -> R.Tensor(("n", "n + 1"), "float32"):
        n = T.int64()
        with R.dataflow():
            a = R.expand_dims(x, axis=[1])
            b = R.multiply(a, y)
            R.output(b)
        return b""",
    "concat_self": """x: R.Tensor(("n", 2), "float32")
    ) -> R.Tensor(("n * 3", 2), "float32"):
        n = T.int64()
        with R.dataflow():
            b = R.concat([x, x, x], axis=0)
            c = R.exp(b)
            R.output(c)
        return c""",
    "nested_if": """c: R.Tensor((), "bool"),
        d: R.Tensor((), "bool"),
        x: R.Tensor(("n",), "float32")
    ) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        if c:
            if d:
                y = R.exp(x)
                z = R.add(y, y)
            else:
                z = R.negative(x)
            w = R.add(z, x)
        else:
            w = x
        return w""",
    "bool_ops": """x: R.Tensor(("n", 3), "bool"),
        y: R.Tensor((3,), "bool")
    ) -> R.Tensor(("n", 3), "bool"):
        n = T.int64()
        with R.dataflow():
            a = R.logical_and(x, y)
            b = R.logical_not(a)
            c = R.logical_xor(b, x)
            R.output(c)
        return c""",
    "i8_wrap": """x: R.Tensor(("n",), "int8")
    ) -> R.Tensor(("n",), "int8"):
        n = T.int64()
        with R.dataflow():
            a = R.multiply(x, R.const(100, "int8"))
            b = R.add(a, R.const(100, "int8"))
            R.output(b)
        return b""",
    "u8_sub": """x: R.Tensor(("n",), "uint8")
    ) -> R.Tuple(R.Tensor(("n",), "uint8"),
            R.Tensor(("n",), "float32"),
            R.Tensor(("n",), "bool"),
            R.Tensor(("n",), "int32")):
        n = T.int64()
        with R.dataflow():
            a = R.subtract(x, R.const(2, "uint8"))
            b = R.astype(a, "float32")
            c = R.greater(a, R.const(100, "uint8"))
            d = R.astype(R.divide(a, R.const(3, "uint8")), "int32")
            R.output(a, b, c, d)
        return (a, b, c, d)""",
    "right_shift_neg": """x: R.Tensor(("n",), "int32")
    ) -> R.Tensor(("n",), "int32"):
        n = T.int64()
        with R.dataflow():
            a = R.right_shift(R.negative(x), R.const(1, "int32"))
            b = R.floor_mod(a, R.const(-3, "int32"))
            R.output(b)
        return b""",
    "mod_floats": """x: R.Tensor(("n",), "float32")
    ) -> R.Tuple(R.Tensor(("n",), "float32"), R.Tensor(("n",), "float32"), R.Tensor(("n",), "float32")):
        n = T.int64()
        with R.dataflow():
            a = R.floor_mod(x, R.const(0.25, "float32"))
            b = R.mod(x, R.const(-0.25, "float32"))
            c = R.floor_divide(x, R.const(0.25, "float32"))
            R.output(a, b, c)
        return (a, b, c)""",
    "f64": """x: R.Tensor(("n", "m"), "float64")
    ) -> R.Tensor(("n",), "float64"):
        n = T.int64(); m = T.int64()
        with R.dataflow():
            a = R.tanh(x)
            b = R.sum(R.exp(a), axis=[1])
            R.output(b)
        return b""",
    "f16_matmul": """x: R.Tensor(("n", 3), "float16"),
        w: R.Tensor((3, "m"), "float16")
    ) -> R.Tensor(("n", "m"), "float16"):
        n = T.int64(); m = T.int64()
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.nn.relu(R.add(a, R.const(0.5, "float16")))
            R.output(b)
        return b""",
    "bf16": """x: R.Tensor(("n", 3), "bfloat16"),
        w: R.Tensor((3, "m"), "bfloat16")
    ) -> R.Tensor(("n", "m"), "bfloat16"):
        n = T.int64(); m = T.int64()
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.nn.softmax(R.add(a, R.const(0.5, "bfloat16")))
            R.output(b)
        return b""",
    "nan_max": """x: R.Tensor(("n",), "float32")
    ) -> R.Tuple(R.Tensor(("n",), "float32"), R.Tensor(("n",), "float32"), R.Tensor(("n",), "float32")):
        n = T.int64()
        with R.dataflow():
            q = R.log(R.subtract(x, R.const(5.0, "float32")))
            a = R.maximum(q, x)
            b = R.maximum(x, q)
            c = R.nn.relu(q)
            R.output(a, b, c)
        return (a, b, c)""",
    "unused_shape_dim": """x: R.Tensor(("n", "m"), "float32")
    ) -> R.Tensor((), "int64"):
        n = T.int64()
        y = R.argmax(x)
        return y""",
    "cumulative_rename": """x: R.Tensor(("n",), "float32")
    ) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        y = x
        x = R.exp(y)
        y = R.add(x, y)
        x = y
        return x""",
    "scalar_param_broadcast": """x: R.Tensor((), "float32"),
        y: R.Tensor(("n", 1), "float32"),
        z: R.Tensor((1, "m"), "float32")
    ) -> R.Tensor(("n", "m"), "float32"):
        n = T.int64(); m = T.int64()
        with R.dataflow():
            a = R.add(y, z)
            b = R.multiply(x, a)
            c = R.sum(b, axis=[0], keepdims=True)
            d = R.divide(b, R.add(R.abs(c), R.const(1.0, "float32")))
            R.output(d)
        return d""",
    "i8_index_like_simplification": """x: R.Tensor(("n",), "int8")
    ) -> R.Tuple(R.Tensor(("n",), "int8"), R.Tensor(("n",), "bool"), R.Tensor(("n",), "int8")):
        n = T.int64()
        with R.dataflow():
            a = R.multiply(R.add(x, R.const(60, "int8")), R.const(4, "int8"))
            b = R.floor_divide(a, R.const(4, "int8"))
            c = R.greater(R.add(R.add(x, R.const(126, "int8")), R.const(1, "int8")), x)
            d = R.floor_mod(R.multiply(R.add(x, R.const(60, "int8")), R.const(6, "int8")), R.const(3, "int8"))
            R.output(b, c, d)
        return (b, c, d)""",
    "u8_simplification": """x: R.Tensor(("n",), "uint8")
    ) -> R.Tuple(R.Tensor(("n",), "uint8"),
            R.Tensor(("n",), "bool"),
            R.Tensor(("n",), "uint8"),
            R.Tensor(("n",), "uint8")):
        n = T.int64()
        with R.dataflow():
            a = R.multiply(R.add(x, R.const(200, "uint8")), R.const(4, "uint8"))
            b = R.floor_divide(a, R.const(4, "uint8"))
            c = R.less(R.subtract(x, R.const(3, "uint8")), x)
            d = R.maximum(R.subtract(x, R.const(3, "uint8")), x)
            e = R.right_shift(R.subtract(x, R.const(3, "uint8")), R.const(1, "uint8"))
            R.output(b, c, d, e)
        return (b, c, d, e)""",
    "i32_big": """x: R.Tensor(("n",), "int32")
    ) -> R.Tuple(R.Tensor(("n",), "int32"), R.Tensor(("n",), "int64")):
        n = T.int64()
        with R.dataflow():
            a = R.multiply(R.add(x, R.const(1000000000, "int32")), R.const(4, "int32"))
            b = R.floor_divide(a, R.const(4, "int32"))
            c = R.astype(a, "int64")
            R.output(b, c)
        return (b, c)""",
    "bool_cast_arith": """x: R.Tensor(("n",), "bool")
    ) -> R.Tuple(R.Tensor(("n",), "int32"), R.Tensor(("n",), "float32"), R.Tensor((), "int32")):
        n = T.int64()
        with R.dataflow():
            a = R.astype(x, "int32")
            b = R.astype(x, "float32")
            c = R.sum(a)
            R.output(a, b, c)
        return (a, b, c)""",
    "float_to_bool_int": """x: R.Tensor(("n",), "float32")
    ) -> R.Tuple(R.Tensor(("n",), "bool"), R.Tensor(("n",), "int8"), R.Tensor(("n",), "int64")):
        n = T.int64()
        with R.dataflow():
            a = R.astype(x, "bool")
            b = R.astype(R.multiply(x, R.const(50.0, "float32")), "int8")
            c = R.astype(R.multiply(x, R.const(-50.0, "float32")), "int64")
            R.output(a, b, c)
        return (a, b, c)""",
    "sum_bool_i8_reductions": """x: R.Tensor(("n", 3), "int8"),
        y: R.Tensor(("n", 3), "float16")
    ) -> R.Tuple(R.Tensor(("n",), "int8"),
            R.Tensor(("n",), "float16"),
            R.Tensor((3,), "float16"),
            R.Tensor((), "float16")):
        n = T.int64()
        with R.dataflow():
            a = R.sum(x, axis=[1])
            b = R.mean(y, axis=[1])
            c = R.sum(y, axis=[0])
            d = R.variance(y)
            R.output(a, b, c, d)
        return (a, b, c, d)""",
    "int_mean": """x: R.Tensor(("n", 3), "int32")
    ) -> R.Tuple(R.Tensor(("n",), "int32"), R.Tensor((), "int32")):
        n = T.int64()
        with R.dataflow():
            b = R.mean(R.negative(x), axis=[1])
            c = R.prod(x)
            R.output(b, c)
        return (b, c)""",
    "power": """x: R.Tensor(("n", 3), "float32"),
        y: R.Tensor(("n", 3), "int32")
    ) -> R.Tuple(R.Tensor(("n", 3), "float32"),
            R.Tensor(("n", 3), "float32"),
            R.Tensor(("n", 3), "int32")):
        n = T.int64()
        with R.dataflow():
            a = R.power(x, R.const(2.0, "float32"))
            b = R.power(R.abs(x), R.const(-0.5, "float32"))
            c = R.power(y, R.const(3, "int32"))
            R.output(a, b, c)
        return (a, b, c)""",
    "round_sign": """x: R.Tensor(("n", 3), "float32")
    ) -> R.Tuple(R.Tensor(("n", 3), "float32"),
            R.Tensor(("n", 3), "float32"),
            R.Tensor(("n", 3), "float32"),
            R.Tensor(("n", 3), "float32"),
            R.Tensor(("n", 3), "float32")):
        n = T.int64()
        with R.dataflow():
            i = R.astype(R.multiply(x, R.const(8.0, "float32")), "int32")
            s = R.multiply(R.astype(i, "float32"), R.const(0.5, "float32"))
            a = R.round(s)
            b = R.sign(s)
            c = R.floor(s)
            d = R.ceil(s)
            e = R.trunc(s)
            R.output(a, b, c, d, e)
        return (a, b, c, d, e)""",
    "attention": """q: R.Tensor((2, "n", 2, 4), "float32"),
        k: R.Tensor((2, "m", 2, 4), "float32"),
        v: R.Tensor((2, "m", 2, 3), "float32")
    ) -> R.Tensor((2, "n", 2, 3), "float32"):
        n = T.int64(); m = T.int64()
        with R.dataflow():
            a = R.nn.attention(q, k, v, scale=0.5)
            b = R.nn.relu(a)
            R.output(b)
        return b""",
    "strided_slice_by_split_same_twice": """x: R.Tensor((4, "n"), "float32")
    ) -> R.Tensor((2, "n"), "float32"):
        n = T.int64()
        with R.dataflow():
            s = R.split(x, 2, axis=0)
            a = s[0]
            b = s[1]
            c = R.add(a, b)
            d = R.add(c, s[0])
            R.output(d)
        return d""",
    "reshape_n_2": """x: R.Tensor(("n * 2", 3), "float32"),
        y: R.Tensor(("n",), "float32")
    ) -> R.Tensor(("n", 6), "float32"):
        n = T.int64()
        with R.dataflow():
            a = R.reshape(x, R.shape([n, 2, 3]))
            b = R.reshape(R.exp(a), R.shape([n, 6]))
            c = R.permute_dims(b)
            d = R.multiply(c, y)
            e = R.permute_dims(d)
            R.output(e)
        return e""",
    "tuple_output_directly_unused": """x: R.Tensor((4, "n"), "float32")
    ) -> R.Tuple(R.Tensor((2, "n"), "float32"), R.Tensor((2, "n"), "float32")):
        n = T.int64()
        with R.dataflow():
            s = R.split(R.exp(x), 2, axis=0)
            R.output(s)
        return s""",
    "empty_tuple": """x: R.Tensor((4, "n"), "float32")
    ) -> R.Tuple():
        n = T.int64()
        s = R.tuple()
        return s""",
}


def source(name: str) -> str:
    """The TVMScript of a model."""
    return HEAD + MODELS[name] + "\n"
