"""The effects that there are: input and output, and caches of attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...diagnostics import DTypeError, TiraxError
from ...handles.relax.calls import call_inplace_packed, call_operator, call_pure_packed
from ...handles.relax.expr import Expr, NullValue, PrimValue, ShapeExpr, Var
from ...handles.struct_info import ObjectStructInfo, TensorStructInfo
from ..block_builder import BlockBuilder
from .tensor import Effect, Tensor, current_builder, get_default_dtype


class _OneState(Effect):
    """An effect whose state is one object."""

    def __init__(self) -> None:
        self._state: Expr | None = None

    def create(self, name_hint: str) -> list[Var]:
        """A new variable for the state."""
        var = Var(name_hint, ObjectStructInfo())
        self._state = var
        return [var]

    def set_state(self, state_vars: Sequence[Expr]) -> None:
        """Let this be the state from now on."""
        (self._state,) = state_vars

    def finalize(self) -> list[Expr]:
        """The state at the end of the function; there is none afterwards."""
        state = self.state
        self._state = None
        return [state]

    @property
    def state(self) -> Expr:
        """The state here. Raises `TiraxError` where the function that is exported has none."""
        if self._state is None:
            what = type(self).__name__
            raise TiraxError(f"there is no state of {what} here", hint='export with effect_mode "plain" or "packed"')
        return self._state


class IOEffect(_OneState):
    """What `op.print_` and `op.debug_func` are ordered by. A model exported with `debug=True` has one."""

    def emit_init(self, name_hint: str, builder: BlockBuilder) -> list[Var]:
        """An object that stands for nothing."""
        return [builder.emit(NullValue(), "_io")]

    def create(self, name_hint: str) -> list[Var]:
        """A new variable, called `_io`."""
        return super().create("_io")


class KVCache(_OneState):
    """Rows of an attention's keys or values, of `unit_shape` each, to which every step of decoding appends.

    It grows beyond `init_seq_len` where it has to.
    """

    def __init__(self, init_seq_len: int, unit_shape: Sequence[int], dtype: str | None = None):
        super().__init__()
        self.init_seq_len = init_seq_len
        self.unit_shape = [int(extent) for extent in unit_shape]
        self.dtype = dtype or get_default_dtype()

    def emit_init(self, name_hint: str, bb: BlockBuilder) -> list[Var]:
        """An empty cache."""
        shape = ShapeExpr([self.init_seq_len, *self.unit_shape])
        zeros = call_operator("relax.zeros", shape, dtype=self.dtype)
        cache = call_pure_packed("vm.builtin.attention_kv_cache_create", zeros, shape, PrimValue(0), sinfo_args=_OBJECT)
        return [bb.emit(cache, name_hint)]

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of the rows."""
        self.dtype = dtype or self.dtype

    def view(self, seq_len: Any) -> Tensor:
        """The first `seq_len` rows, which is what was appended so far."""
        shape = [seq_len, *self.unit_shape]
        info = TensorStructInfo(shape, self.dtype)
        rows = call_pure_packed("vm.builtin.attention_kv_cache_view", self.state, ShapeExpr(shape), sinfo_args=[info])
        return Tensor(_expr=current_builder().emit(rows))

    def append(self, new_element: Tensor) -> None:
        """Append rows. Raises `DTypeError` for those of another dtype."""
        if new_element.dtype != self.dtype:
            raise DTypeError("the cache has another dtype", expected=self.dtype, found=new_element.dtype)
        appended = call_inplace_packed(
            "vm.builtin.attention_kv_cache_append",
            self.state,
            new_element.expr_handle,
            inplace_indices=[0],
            sinfo_args=_OBJECT,
        )
        self._state = current_builder().emit(appended)


_OBJECT = [ObjectStructInfo()]

__all__ = ["IOEffect", "KVCache"]
