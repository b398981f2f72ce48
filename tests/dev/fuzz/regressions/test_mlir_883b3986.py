"""Found by the fuzzer of mlir."""

from tirax.dev.fuzz.kinds import KINDS

MESSAGE = "failed: ScriptError: <string>:8:124: error: this is not Python: invalid syntax (source.py:parse_text)"
CASE = """\
builtin.module {
  relax.func @main(%x1: !relax.tensor<[n], f32>, %x2: !relax.tensor<[m], f32>) -> !relax.tensor<[n], f32> {
    %gv6 = relax.dataflow {
      %0 = relax.constant <f32 [] 0.5>
      %1 = relax.constant <f32 [] 0.5>
      %gv6_1 = relax.call_tir @fused_not_equal_where(%x1, %0, %1) : !relax.tensor<[n], f32>
      relax.output %gv6_1 : !relax.tensor<[n], f32>
    }
    relax.return %gv6 : !relax.tensor<[n], f32>
  }
  tir.func private @fused_not_equal_where(%x1: !tir.buffer<[n], f32>, %param.0: !tir.buffer<[], f32>, %param.1: !tir.buffer<[], f32>, %T_where_intermediate: !tir.buffer<[n], f32>) handles ["p_x1", "p_param_0", "p_param_1", "p_output0("] attributes {tir.noalias = true} {
    %T_not_equal_intermediate = tir.alloc_buffer : !tir.buffer<[n], i1>
    tir.for %ax0 = 0 to n {
      tir.block "T_not_equal" (%v_ax0 = spatial(%ax0, n)) {
        tir.reads %x1[%v_ax0]
        tir.writes %T_not_equal_intermediate[%v_ax0]
        %0 = tir.load %x1[%v_ax0] : f32
        %1 = tir.load %x1[%v_ax0] : f32
        %2 = tir.ne %0, %1 : f32
        tir.store %2, %T_not_equal_intermediate[%v_ax0]
      }
    }
    tir.for %ax0_1 = 0 to n {
      tir.block "T_where" (%v_ax0_1 = spatial(%ax0_1, n)) {
        tir.reads %T_not_equal_intermediate[%v_ax0_1]
        tir.reads %param.0[]
        tir.reads %param.1[]
        tir.writes %T_where_intermediate[%v_ax0_1]
        %3 = tir.load %T_not_equal_intermediate[%v_ax0_1] : i1
        %4 = tir.load %param.0[] : f32
        %5 = tir.load %param.1[] : f32
        %6 = tir.select %3, %4, %5 : f32
        tir.store %6, %T_where_intermediate[%v_ax0_1]
      }
    }
  }
}"""


def test_mlir_883b3986() -> None:
    KINDS["mlir"].check(CASE)
