"""Text of the functions of tensor intrinsics: buffers of a scope, and a block that reads and writes all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_INDENT = "    "


@dataclass(frozen=True)
class Operand:
    """A buffer parameter. With `strides` its implementation names them."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    scope: str
    factor: int = 1
    strides: tuple[str, ...] = ()
    align: int = 64

    def matched(self, named: bool) -> str:
        """Return the statement that declares the buffer."""
        strides = f", strides=[{', '.join(self.strides)}]" if named and self.strides else ""
        return (
            f'{self.name} = T.match_buffer(_{self.name}, {self.shape}, "{self.dtype}", align={self.align},'
            f' offset_factor={self.factor}, scope="{self.scope}"{strides})'
        )

    @property
    def whole(self) -> str:
        """The region of the whole buffer."""
        return f"{self.name}[{', '.join(f'0:{extent}' for extent in self.shape)}]"


def function(
    operands: Sequence[Operand], reads: Sequence[str], writes: Sequence[str], body: str, *, implements: bool = False
) -> str:
    """Return the text of a function with one block around `body`; `reads` and `writes` name operands."""
    by_name = {operand.name: operand for operand in operands}
    symbols = [s for o in operands for s in o.strides] if implements else []
    lines = [
        "@T.prim_func",
        f"def main({', '.join(f'_{o.name}: T.handle' for o in operands)}):",
        *(f"{_INDENT}{symbol} = T.int32()" for symbol in symbols),
        *(_INDENT + operand.matched(implements) for operand in operands),
        f'{_INDENT}with T.block("root"):',
        f"{2 * _INDENT}T.reads({', '.join(by_name[name].whole for name in reads)})",
        f"{2 * _INDENT}T.writes({', '.join(by_name[name].whole for name in writes)})",
        *(2 * _INDENT + line for line in body.strip("\n").split("\n")),
    ]
    return "\n".join(lines) + "\n"
