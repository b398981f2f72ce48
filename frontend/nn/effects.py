"""The built-in effects: input and output, and attention caches."""

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
        """Return a new variable for the state."""
        var = Var(name_hint, ObjectStructInfo())
        self._state = var
        return [var]

    def set_state(self, state_vars: Sequence[Expr]) -> None:
        """Set the current state."""
        (self._state,) = state_vars

    def finalize(self) -> list[Expr]:
        """Return the final state and clear it, at the end of a function."""
        state = self.state
        self._state = None
        return [state]

    @property
    def state(self) -> Expr:
        """The current state. Raises `TiraxError` if the exported function has none."""
        if self._state is None:
            what = type(self).__name__
            raise TiraxError(f"there is no state of {what} here", hint='export with effect_mode "plain" or "packed"')
        return self._state


class IOEffect(_OneState):
    """The effect that orders `op.print_` and `op.debug_func`. A model exported with `debug=True` has one."""

    def emit_init(self, name_hint: str, builder: BlockBuilder) -> list[Var]:
        """Return a placeholder object."""
        return [builder.emit(NullValue(), "_io")]

    def create(self, name_hint: str) -> list[Var]:
        """Return a new variable, called `_io`."""
        return super().create("_io")


class KVCache(_OneState):
    """A growing cache of attention keys or values: each decoding step appends rows of shape `unit_shape`.

    It grows beyond `init_seq_len` as necessary.
    """

    def __init__(self, init_seq_len: int, unit_shape: Sequence[int], dtype: str | None = None):
        super().__init__()
        self.init_seq_len = init_seq_len
        self.unit_shape = [int(extent) for extent in unit_shape]
        self.dtype = dtype or get_default_dtype()

    def emit_init(self, name_hint: str, bb: BlockBuilder) -> list[Var]:
        """Return an empty cache."""
        shape = ShapeExpr([self.init_seq_len, *self.unit_shape])
        zeros = call_operator("relax.zeros", shape, dtype=self.dtype)
        cache = call_pure_packed("vm.builtin.attention_kv_cache_create", zeros, shape, PrimValue(0), sinfo_args=_OBJECT)
        return [bb.emit(cache, name_hint)]

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of the rows."""
        self.dtype = dtype or self.dtype

    def view(self, seq_len: Any) -> Tensor:
        """Return the first `seq_len` rows: all rows appended so far."""
        shape = [seq_len, *self.unit_shape]
        info = TensorStructInfo(shape, self.dtype)
        rows = call_pure_packed("vm.builtin.attention_kv_cache_view", self.state, ShapeExpr(shape), sinfo_args=[info])
        return Tensor(_expr=current_builder().emit(rows))

    def append(self, new_element: Tensor) -> None:
        """Append rows. Raises `DTypeError` for rows of another dtype."""
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
