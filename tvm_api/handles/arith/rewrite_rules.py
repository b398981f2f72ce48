"""The rules of `Analyzer.rewrite_simplify`: integer identities, one per row.

    "before -> after  if condition"

`x`, `y`, `z`, `w` and `b` match any expressions, `c1` to `c4` constants. `//` and `%` round down, `tdiv`
and `tmod`
towards zero; a row with `div` and `mod` holds for both. The operands of `+`, `*`, `min` and `max` match in
either
order, unless the row is in ORDERED: there `[x + y] -> [z + w]` is the row as written and also `y + x -> w +
z`, and so
is `{x + y}`, independently of `[]`. `->` simplifies the result again, `=>` does not. A condition is a
Python expression
over the constants, with these predicates of expressions: `nonneg(x)`, `positive(x)`, `divides(x)`
(non-negative, and
nonzero where it divides), `within(x, n)` (0 <= x < n), `same(x, y)`, `negated(x, y)` (x == -y) and
`varies(x)` (not a
constant), `plain(x)` (neither a minimum nor a maximum). Tables with a dual also hold with `min` and `max` exchanged.
"""

ADD = """
select(b, x, y) + select(b, z, w) -> select(b, x + z, y + w)
(x - y) + y -> x
(x - y) + (y - z) -> x - z
(x - y) + (z - x) -> z - y
x * y + x * z -> x * (y + z)
x * y + x -> x * (y + 1)  if varies(x)
x + x -> x * 2
div(x, y) * y + mod(x, y) -> x
(x % c1 + c2) // c1 + x // c1 -> (x + c2) // c1  if c1 > 0
x % 2 + (x + c1) % 2 -> 1  if c1 % 2 == 1
x // 2 + x % 2 -> (x + 1) // 2
max(x, y) + min(x, y) -> x + y
"""

ADD_ORDERED = """
c1 + x -> x + c1
(x + c1) + c2 -> x + (c1 + c2)
(x + c1) + y -> (x + y) + c1
x + (y + c1) -> (x + y) + c1
(c1 - x) + c2 -> (c1 + c2) - x
(c1 - x) + y -> (y - x) + c1
x + (c1 - y) -> (x - y) + c1
x + min(y, z) => min(y, z) + x  if plain(x)
x + max(y, z) => max(y, z) + x  if plain(x)
mod(y, c1) + x * c1 => x * c1 + mod(y, c1)
"""

SUB = """
select(b, x, y) - select(b, z, w) -> select(b, x - z, y - w)
select(b, x, y) - x -> select(b, 0, y - x)
select(b, x, y) - y -> select(b, x - y, 0)
x - x -> 0
x - c1 -> x + (0 - c1)
(x + y) - y -> x
x - (y + x) -> 0 - y
(x + y) - (x + z) -> y - z
x * y - x * z -> x * (y - z)
x * y - x -> x * (y + -1)  if varies(x)
x - x * y -> x * (1 - y)  if varies(x)
0 - x * c1 -> x * (0 - c1)
min(x, y) - min(x, y) -> 0
max(x, y) - max(x, y) -> 0
x - div(x, c1) * c1 -> mod(x, c1)
div(x, c1) * c1 - x -> 0 - mod(x, c1)
x * c2 - div(x, c1) * c3 -> mod(x, c1) * c2  if c3 == c1 * c2
div(x, c1) * c3 - x * c2 -> mod(x, c1) * (0 - c2)  if c3 == c1 * c2
(x + c1) // 2 - (x + c2) // 2 -> (x % 2) * (c1 % 2 - c2 % 2) + (c1 // 2 - c2 // 2)
x // 2 - (x + c2) // 2 -> (x % 2) * (0 - c2 % 2) - c2 // 2
(x + c1) // 2 - x // 2 -> (x % 2) * (c1 % 2) + c1 // 2
(x + 1) // 2 - x % 2 -> x // 2
(x + c1) // c3 - x // c3 -> (x % c3 + c1) // c3  if c3 > 0
(x + c1) // c3 - (x + c2) // c3 -> ((x + c2) % c3 + (c1 - c2)) // c3  if c3 > 0
tdiv(x + c1, c3) - tdiv(x, c3) -> tdiv(tmod(x, c3) + c1, c3)  if c3 > 0 and c1 >= 0 and nonneg(x)
tdiv(x + c1, c3) - tdiv(x + c2, c3) -> tdiv(tmod(x + c2, c3) + (c1 - c2), c3)  if c3 > 0 and c1 >= c2 and nonneg(x + c2)
"""

SUB_ORDERED = """
(x + c1) - (y + c2) -> (x - y) + (c1 - c2)
(x + c1) - y -> (x - y) + c1
x - (y + c1) -> (x - y) + (0 - c1)
x - (c1 - y) -> (x + y) + (0 - c1)
x - (y - z) -> (x + z) - y
(x - y) - x -> 0 - y
x - div([x + y], c1) * c1 -> mod([x + y], c1) - y
x - div(x - y, c1) * c1 -> mod(x - y, c1) + y
div([x + y], c1) * c1 - x -> y - mod([x + y], c1)
div(x - y, c1) * c1 - x -> (0 - mod(x - y, c1)) - y
x * c2 - div([x + y], c1) * c3 -> (mod([x + y], c1) - y) * c2  if c3 == c1 * c2
x * c2 - div(x - y, c1) * c3 -> (mod(x - y, c1) + y) * c2  if c3 == c1 * c2
div([x + y], c1) * c3 - x * c2 -> (y - mod([x + y], c1)) * c2  if c3 == c1 * c2
div(x - y, c1) * c3 - x * c2 -> ((0 - mod(x - y, c1)) - y) * c2  if c3 == c1 * c2
x - y * c1 => x + y * (0 - c1)
"""

MUL = """
min(x, y) * max(x, y) -> x * y
"""

MUL_ORDERED = """
c1 * x -> x * c1
(x + c1) * c2 -> x * c2 + c1 * c2
(x * c1) * c2 -> x * (c1 * c2)
x * (y * c1) -> (x * y) * c1
(x - y) * c1 -> (y - x) * (0 - c1)  if c1 < 0
"""

DIV = """
tdiv(x, x) -> 1
tdiv(tdiv(x, c1), c2) -> tdiv(x, c1 * c2)  if c1 > 0 and c2 > 0
tdiv(tdiv(x, c1) + c2, c3) -> tdiv(x + c1 * c2, c1 * c3)  if c1 > 0 and c2 >= 0 and c3 > 0 and nonneg(x)
tdiv(x * c1, c2) -> x * (c1 // c2)  if c2 > 0 and c1 % c2 == 0
tdiv(x * c1, c2) -> tdiv(x, c2 // c1)  if c1 > 0 and c2 > 0 and c2 % c1 == 0
tdiv(x + c1, c2) => tdiv(x, c2) + c1 // c2  if c2 > 0 and c1 >= 0 and c1 % c2 == 0 and nonneg(x)
tdiv(x + y, x) -> tdiv(y, x) + 1  if divides(x) and nonneg(y)
tdiv(x * y, y) -> x  if divides(y)
"""

DIV_ORDERED = """
tdiv([x * c1 + y], c2) -> [x * (c1 // c2) + tdiv(y, c2)]  if c1 > 0 and c2 > 0 and c1 % c2 == 0 and nonneg(x) and nonneg(y)
tdiv([min(x * c1, y)], c2) -> [min(x * (c1 // c2), tdiv(y, c2))]  if c1 > 0 and c2 > 0 and c1 % c2 == 0
tdiv([max(x * c1, y)], c2) -> [max(x * (c1 // c2), tdiv(y, c2))]  if c1 > 0 and c2 > 0 and c1 % c2 == 0
tdiv([x * c1 + y] + z, c2) -> x * (c1 // c2) + tdiv(y + z, c2)  if c2 > 0 and c1 % c2 == 0 and nonneg(x * c1) and nonneg(y + z)
tdiv((x * c1 - y) + z, c2) -> x * (c1 // c2) + tdiv(z - y, c2)  if c2 > 0 and c1 % c2 == 0 and nonneg(x * c1) and nonneg(z - y)
tdiv((x * c1 + y) - z, c2) -> x * (c1 // c2) + tdiv(y - z, c2)  if c2 > 0 and c1 % c2 == 0 and nonneg(x * c1) and nonneg(y - z)
tdiv([x + y] + z, x) -> tdiv(y + z, x) + 1  if divides(x) and nonneg(y + z)
tdiv(y + [x + z], x) -> tdiv(y + z, x) + 1  if divides(x) and nonneg(y + z)
tdiv([{x * z} + y], z) -> [x + tdiv(y, z)]  if nonneg(x) and divides(z) and nonneg(y)
"""  # noqa: E501

TRUNCMOD = """
tmod(x, c1) -> tmod(x, 0 - c1)  if c1 < 0
tmod(x * c1, c2) -> 0  if c2 > 0 and c1 % c2 == 0
tmod(x * c1 + y, c2) -> tmod(y, c2)  if c2 > 0 and c1 % c2 == 0 and nonneg(x * c1) and nonneg(y)
tmod(x + c1, c2) -> tmod(x, c2)  if c2 > 0 and c1 >= 0 and c1 % c2 == 0 and nonneg(x)
"""

FLOORDIV = """
x // x -> 1
(x // c1) // c2 -> x // (c1 * c2)  if c1 > 0 and c2 > 0
(x // c1 + c2) // c3 -> (x + c1 * c2) // (c1 * c3)  if c1 > 0 and c3 > 0
(x - x % c1) // c1 -> x // c1
(x % 2 + 1) // 2 -> x % 2
(x * c1) // c2 -> x * (c1 // c2)  if c2 > 0 and c1 % c2 == 0
(x * c1) // c2 -> x // (c2 // c1)  if c1 > 0 and c2 > 0 and c2 % c1 == 0
(x * c1 + c2) // c3 -> x // (c3 // c1) + (c2 // c1) // (c3 // c1)  if c1 > 0 and c3 > c1 and c3 % c1 == 0 and (c2 // c1) % (c3 // c1) == 0
(x + c1) // c2 => x // c2 + c1 // c2  if c2 > 0 and c1 % c2 == 0
(x * c1 + y) // c2 -> x * (c1 // c2) + y // c2  if c2 > 0 and c1 % c2 == 0
(x * c1 + y) // c2 -> x // (c2 // c1)  if c1 > 0 and c2 > c1 and c2 % c1 == 0 and within(y, c1)
(x * c1 + y) // c2 -> x * (c1 // c2)  if c2 > 0 and c1 > c2 and within(x * (c1 % c2) + y, c2)
((x * c1 + y) + z) // c2 -> x * (c1 // c2) + (y + z) // c2  if c2 > 0 and c1 % c2 == 0
((x * c1 + y) + z) // c2 -> x // (c2 // c1)  if c1 > 0 and c2 > c1 and c2 % c1 == 0 and within(y + z, c1)
(x + y) // x -> y // x + 1  if divides(x)
(x * y) // y -> x  if divides(y)
"""  # noqa: E501

FLOORDIV_ORDERED = """
[min(x * c1, y)] // c2 -> [min(x * (c1 // c2), y // c2)]  if c2 > 0 and c1 % c2 == 0
[max(x * c1, y)] // c2 -> [max(x * (c1 // c2), y // c2)]  if c2 > 0 and c1 % c2 == 0
((x * c1 - y) + z) // c2 -> x * (c1 // c2) + (z - y) // c2  if c2 > 0 and c1 % c2 == 0
((x * c1 + y) - z) // c2 -> x * (c1 // c2) + (y - z) // c2  if c2 > 0 and c1 % c2 == 0
([x + y] + z) // x -> (y + z) // x + 1  if divides(x)
(y + [x + z]) // x -> (y + z) // x + 1  if divides(x)
[{x * z} + y] // z -> [x + y // z]  if divides(z)
((x * z) * c1 + y) // (z * c1) -> x + y // (z * c1)  if divides(z * c1)
"""

FLOORMOD = """
(x * c1) % c2 -> 0  if c2 > 0 and c1 % c2 == 0
(x * c1) % c2 -> (x * (c1 % c2)) % c2  if c2 > 0 and not 0 <= c1 < c2
(x * c1 + y) % c2 -> y % c2  if c2 > 0 and c1 % c2 == 0
(x * c1 + y) % c2 -> (x % (c2 // c1)) * c1 + y  if c1 > 0 and c2 > c1 and c2 % c1 == 0 and within(y, c1)
(x + c1) % c2 -> x % c2  if c2 > 0 and c1 % c2 == 0
(x + c1) % c2 -> (x + c1 % c2) % c2  if c2 > 0 and not 0 <= c1 < c2
(x - x % y) % y -> 0
(x - x % z) % y -> 0  if negated(z, y)
(x + (x * c1) % c2) % c2 -> 0  if (c1 + 1) % c2 == 0
(x + (x * -1) % y) % y -> 0
(x * z + y) % z -> y % z  if divides(z)
((x * z) * c1 + y) % (z * c1) -> y % (z * c1)  if divides(z * c1)
(x * z) % z -> 0  if divides(z)
"""

FLOORMOD_ORDERED = """
[x * c1 + y] % c2 -> [x * (c1 % c2) + y] % c2  if c2 > 0 and not 0 <= c1 < c2
"""

MIN = """
min(x + c1, x + c2) -> x + min(c1, c2)
min(x, x + c1) -> x + min(0, c1)
min(c1 - x, c2 - x) -> min(c1, c2) - x
min(select(b, x, y), select(b, z, w)) -> select(b, min(x, z), min(y, w))
min(max(x, y), min(x, y)) -> min(x, y)
min(max(x, y), x) -> x
min(max(x, y), max(x, z)) -> max(min(y, z), x)
min(x + y, x + z) -> min(y, z) + x
min(x - y, x - z) -> x - max(y, z)
min(y - x, z - x) -> min(y, z) - x
min(div(x, c1), div(y, c1)) -> div(min(x, y), c1)  if c1 > 0
min(div(x, c1), div(y, c1)) -> div(max(x, y), c1)  if c1 < 0
"""

MIN_ORDERED = """
min(c1 - x, c2) -> c1 - max(x, c1 - c2)  if c2 != 0
{min([min(x, y)], x)} -> [min(x, y)]
min(min(min(x, y), z), y) -> min(min(x, y), z)
min(min(min(min(x, y), z), w), y) -> min(min(min(x, y), z), w)
min(min(min(min(min(x, y), z), w), b), y) -> min(min(min(min(x, y), z), w), b)
"""

MIN_CONSTANTS = """
min(min(x, c1), c2) -> min(x, min(c1, c2))
min(x * c1, c2) -> min(x, c2 // c1) * c1  if c1 > 0 and c2 % c1 == 0
min(x * c1, c2) -> max(x, c2 // c1) * c1  if c1 < 0 and c2 % c1 == 0
"""

MIN_ALONE = """
min(div(x + c1, c2) * c2, x) -> x  if c2 > 0 and c1 == c2 - 1
min(x // c2 * c2, x) -> x // c2 * c2  if c2 > 0
min(div(x + c1, c2) * c2, max(x, c2)) -> max(x, c2)  if c2 > 0 and c1 == c2 - 1 and positive(x)
"""

MAX_ALONE = """
max(div(x + c1, c2) * c2, x) -> div(x + c1, c2) * c2  if c2 > 0 and c1 == c2 - 1
max(x // c2 * c2, x) -> x  if c2 > 0
"""

SUMS_WITH_MIN = """
[min(y, c1 - x)] + x -> min(x + y, c1)
[min(x, y - z)] + z -> [min(x + z, y)]
[min(x, y)] - x => [min(0, y - x)]
x - [min(x, y)] => [max(0, x - y)]
[min({x + y}, z)] - x => [min(y, z - x)]
x - [min({x + y}, z)] => [max(0 - y, x - z)]
z + [min(x, y - z)] -> [min(x + z, y)]
[min(x, c1 + z * c2)] + z * c3 -> min(x + z * c3, c1)  if c2 + c3 == 0
{[min(x, y + z * c1)] + z * c2} -> [min(x + z * c2, y)]  if c1 + c2 == 0
[min(x, y + c1)] + c2 -> [min(x + c2, y)]  if c1 + c2 == 0
min(x, y) - [min(z, w)] -> x - z  if same(x - z, y - w)
"""

EQ = """
x + c1 == c2 -> x == c2 - c1
c1 - x == c2 -> x == c1 - c2
x * y == 0 -> (x == 0) | (y == 0)
"""

EQ_ORDERED = """
c1 == x -> x == c1
"""

LT = """
x + y < x + z -> y < z
x < x + z -> 0 < z
x + z < x -> z < 0
y - x < z - x -> y < z
x - y < x - z -> z < y
x < x - z -> z < 0
x - z < x -> 0 < z
c1 < x + c2 -> c1 - c2 < x
x + c1 < c2 -> x < c2 - c1
c1 < c2 - x -> x < c2 - c1
c1 - x < c2 -> c1 - c2 < x
x * c1 < y * c1 -> x < y  if c1 > 0
x * c1 < y * c1 -> y < x  if c1 < 0
x * c2 < c1 -> x < (c1 - 1) // c2 + 1  if c2 > 0
x * c2 < c1 -> c1 // c2 < x  if c2 < 0
c1 < x * c2 -> c1 // c2 < x  if c2 > 0
c1 < x * c2 -> x < 0 - (0 - c1) // c2  if c2 < 0
tdiv(x, c1) < c2 -> x < c1 * c2  if c1 > 0 and c2 > 0
tdiv(x, c1) < c2 -> x < c1 * (c2 - 1) + 1  if c1 > 0 and c2 <= 0
c1 < tdiv(x, c2) -> (c1 + 1) * c2 - 1 < x  if c2 > 0 and c1 >= 0
c1 < tdiv(x, c2) -> c1 * c2 < x  if c2 > 0 and c1 < 0
x // c1 < c2 -> x < c1 * c2  if c1 > 0
c1 < x // c2 -> (c1 + 1) * c2 - 1 < x  if c2 > 0
div(x, c1) * c1 < x -> 0 < mod(x, c1)  if c1 > 0
div(x, c1) * c1 < x + y -> 0 < mod(x, c1) + y  if c1 > 0
div(x, c1) * c1 < x - y -> y < mod(x, c1)  if c1 > 0
div(x + c2, c1) * c1 < x -> c2 < mod(x + c2, c1)  if c1 > 0
div(x + c2, c1) * c1 < x + y -> c2 < mod(x + c2, c1) + y  if c1 > 0
div(x + c2, c1) * c1 < x - y -> y + c2 < mod(x + c2, c1)  if c1 > 0
"""

LT_ORDERED = """
min(x, y) < z -> (x < z) | (y < z)
max(x, y) < z -> (x < z) & (y < z)
z < min(x, y) -> (z < x) & (z < y)
z < max(x, y) -> (z < x) | (z < y)
x + c1 < y + c2 -> x < y + (c2 - c1)  if c2 > c1
x + c1 < y + c2 -> x + (c1 - c2) < y  if c2 < c1
x + c1 < y + c1 -> x < y
x + c1 < y -> x < y + (0 - c1)  if c1 < 0
x < y + c1 -> x + (0 - c1) < y  if c1 < 0
x < c1 - y -> x + y < c1
c1 - y < x -> c1 < x + y
x < y + 1 => x <= y
"""

AND = """
(x == y) & (x != y) -> False
x & ~x -> False
(x <= y) & (y < x) -> False
(x == c1) & (x != c2) -> x == c1  if c1 != c2
(x == c1) & (x == c2) -> False  if c1 != c2
(x < c1) & (c2 < x) -> False  if c1 <= c2 + 1
(x < c1) & (c2 <= x) -> False  if c1 <= c2
(x <= c1) & (c2 < x) -> False  if c1 <= c2
(x <= c1) & (c2 <= x) -> False  if c1 < c2
(x // c1 == c2) & (x % c1 == c3) -> x == c2 * c1 + c3  if c1 > 0 and 0 <= c3 < c1
(0 <= x + y * c2) & (x + y * c2 < c1) -> y == x // c1  if c1 > 0 and c1 + c2 == 0
(x < c1) & (x % c2 < c3) => (x < (c1 - 1) // c2 * c2 + c3) & (x % c2 < c3)  if c2 > 0 and (c1 - 1) % c2 >= c3 > 0
(x <= c1) & (x % c2 < c3) => (x < c1 // c2 * c2 + c3) & (x % c2 < c3)  if c2 > 0 and c1 % c2 >= c3 > 0
(x // c1 == c2) & (x % c1 < c3) => (c2 * c1 <= x) & (x < c2 * c1 + c3)  if c1 > 0 and 0 < c3 <= c1
(x // c1 == c2) & (x % c1 <= c3) => (c2 * c1 <= x) & (x <= c2 * c1 + c3)  if c1 > 0 and 0 <= c3 < c1
(x // c1 == c2) & (c3 < x % c1) => (c2 * c1 + c3 < x) & (x < (c2 + 1) * c1)  if c1 > 0 and 0 <= c3 < c1
(x // c1 == c2) & (c3 <= x % c1) => (c2 * c1 + c3 <= x) & (x < (c2 + 1) * c1)  if c1 > 0 and 0 <= c3 < c1
"""

AND_ORDERED = """
x & (y & z) -> (x & y) & z
"""

OR = """
(x == y) | (x != y) -> True
x | ~x -> True
(x <= y) | (y < x) -> True
(x != c1) | (x == c2) -> x != c1  if c1 != c2
(x != c1) | (x != c2) -> True  if c1 != c2
(x < c1) | (c2 < x) -> True  if c2 < c1
(x < c1) | (c2 <= x) -> True  if c2 <= c1
(x <= c1) | (c2 < x) -> True  if c2 <= c1
(x <= c1) | (c2 <= x) -> True  if c2 <= c1 + 1
"""

OR_ORDERED = """
x | (y | z) -> (x | y) | z
"""

EITHER_WAY = (ADD, SUB, MUL, DIV, TRUNCMOD, FLOORDIV, FLOORMOD, EQ, LT, AND, OR)
AS_WRITTEN = (
    *(ADD_ORDERED, SUB_ORDERED, MUL_ORDERED, DIV_ORDERED, FLOORDIV_ORDERED, FLOORMOD_ORDERED),
    *(EQ_ORDERED, LT_ORDERED, AND_ORDERED, OR_ORDERED),
)
WITH_DUAL_EITHER_WAY = (MIN, MIN_CONSTANTS)
WITH_DUAL_AS_WRITTEN = (SUMS_WITH_MIN, MIN_ORDERED)
ALONE = (MIN_ALONE, MAX_ALONE)
