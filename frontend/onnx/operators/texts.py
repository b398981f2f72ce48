"""Operators on strings and on files of images, which the package onnx computes when the program runs."""

from __future__ import annotations

from typing import Any

from ...importing.extras import require
from ..node import Node
from ..table import converter
from ..values import Value
from .classical import ML


@converter("StringConcat", "StringSplit", "StringNormalizer", "RegexFullMatch", "TfIdfVectorizer")
def texts(node: Node, *inputs: Value) -> Any:
    raise node.on_host("it computes with strings")


@converter("ImageDecoder")
def image_decoder(node: Node, encoded: Value) -> Any:
    require("PIL", "images")
    raise node.on_host("images are decoded by the package pillow")


@converter("CategoryMapper", domain=ML)
def category_mapper(node: Node, x: Value) -> Any:
    raise node.on_host("categories are strings")
