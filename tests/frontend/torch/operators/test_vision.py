"""Regions of images: the operators of torchvision."""

from __future__ import annotations

from typing import Any

import pytest
from torch_models import agree, exported

torch = pytest.importorskip("torch", reason="models are made by PyTorch")


def regions(count: int, side: int, seed: int = 0) -> Any:
    """Boxes (x1, y1, x2, y2) inside of a square, some of which are equal or empty."""
    generator = torch.Generator().manual_seed(seed)
    corners = torch.rand(count, 2, generator=generator) * side * 0.7
    boxes = torch.cat([corners, corners + torch.rand(count, 2, generator=generator) * side * 0.5], 1)
    boxes[1::5] = boxes[0]
    boxes[2::7, 2] = boxes[2::7, 0]
    return boxes


@pytest.fixture(scope="module")
def vision() -> Any:
    return pytest.importorskip("torchvision", reason="these are its operators")


@pytest.mark.filterwarnings("ignore:`create_unbacked_symint` is deprecated:FutureWarning")
@pytest.mark.parametrize("threshold", (0.0, 0.4, 1.0))
def test_nms(vision: Any, threshold: float) -> None:
    def model(boxes: Any, scores: Any) -> Any:
        return vision.ops.nms(boxes, scores, threshold)

    scores = torch.rand(30)
    scores[3:8] = scores[0]
    program = exported(model, (regions(30, 40), scores), dynamic_shapes=(({0: torch.export.Dim.AUTO},) * 2,))
    backwards = regions(30, 40)[:, [2, 1, 0, 3]]
    agree(program, (regions(30, 40), scores), (regions(9, 40, 1), scores[:9]), (backwards, scores))


@pytest.mark.parametrize("ratio, aligned", ((2, False), (-1, True), (0, False)))
def test_roi_align(vision: Any, ratio: int, aligned: bool) -> None:
    def model(x: Any, boxes: Any) -> Any:
        return vision.ops.roi_align(x, boxes, (3, 2), 0.25, ratio, aligned)

    images = torch.arange(5.0)[:, None] % 2
    boxes = torch.cat([images, regions(5, 50) - 8], 1)
    agree(exported(model, (torch.randn(2, 3, 9, 10), boxes)), (torch.randn(2, 3, 9, 10), boxes))


def test_roi_pool(vision: Any) -> None:
    def model(x: Any, boxes: Any) -> Any:
        return vision.ops.roi_pool(x, boxes, (3, 2), 0.25)

    corners = torch.tensor([[0.0, 2, 2, 18, 22], [1, 6, 10, 30, 34], [0, -9, -3, 4, 100], [1, 30, 30, 30, 30]])
    agree(exported(model, (torch.randn(2, 3, 9, 10), corners)), (torch.randn(2, 3, 9, 10), corners))


@pytest.mark.parametrize("masked", (False, True))
def test_deform_conv2d(vision: Any, masked: bool) -> None:
    def model(x: Any, w: Any, b: Any, offset: Any, mask: Any) -> Any:
        return vision.ops.deform_conv2d(x, offset, w, b, (2, 1), (1, 2), (1, 2), mask if masked else None)

    args = [torch.randn(2, 4, 9, 8), torch.randn(6, 2, 3, 3), torch.randn(6), 2 * torch.randn(2, 36, 5, 8)]
    agree(exported(model, (*args, torch.rand(2, 18, 5, 8))), (*args, torch.rand(2, 18, 5, 8)), tolerance=1e-4)
