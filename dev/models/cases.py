"""The models of a sweep: each library's by name, with arguments by keyword."""

from __future__ import annotations

import importlib
import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

from .inputs import candidates
from .narrow import narrowed

Case = tuple[torch.nn.Module, dict[str, Any]]
_LARGEST = 40_000_000
"""Parameters of a model that still counts as small."""


class NoCase(Exception):
    """The tool cannot make a small model of this name that runs."""


def of_transformers(name: str) -> Case:
    """Return a narrow model of a type in the config mapping."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    tried: list[str] = []
    for strength in (2, 3, 1, 0):
        try:
            config = narrowed(CONFIG_MAPPING[name](), strength)
            make = _class_of(name, config)
            with torch.device("meta"):
                size = sum(p.numel() for p in make(config).parameters())
            if size > _LARGEST:
                raise NoCase(f"{size // 1_000_000} M parameters")
            return _running(make(config).eval())
        except Exception as error:  # noqa: BLE001 - the next strength may do
            tried.append(f"{type(error).__name__}: {str(error)[:120]}")
    raise NoCase(" | ".join(tried))


def _class_of(name: str, config: Any) -> Callable[[Any], Any]:
    from transformers import AutoModel, PreTrainedModel
    from transformers.models.auto.modeling_auto import MODEL_MAPPING

    if type(config) in MODEL_MAPPING:
        classes = MODEL_MAPPING[type(config)]
        return classes[0] if isinstance(classes, tuple) else AutoModel.from_config
    module = importlib.import_module(type(config).__module__.replace("configuration_", "modeling_"))
    classes = [
        c for c in vars(module).values()
        if inspect.isclass(c) and issubclass(c, PreTrainedModel) and c.__module__ == module.__name__
        and c.config_class is type(config) and not c.__name__.endswith("PreTrainedModel")
    ]  # fmt: skip
    if not classes:
        raise NoCase("no class of models has this configuration")
    return classes[0]


def _running(model: Any) -> Case:
    errors: list[str] = []
    for arguments in candidates(model):
        try:
            with torch.no_grad():
                if tensors_of(model(**arguments)):
                    return model, arguments
        except Exception as error:  # noqa: BLE001 - the next arguments may do
            errors.append(f"{type(error).__name__}: {str(error)[:160]} {[*arguments]}")
    raise NoCase(" / ".join(errors[:1] + errors[1:][-1:]) or "no arguments")


def tensors_of(result: Any) -> list[torch.Tensor]:
    """Return the tensors of a result of any structure."""
    if isinstance(result, torch.Tensor):
        return [result]
    if hasattr(result, "to_tuple"):
        result = result.to_tuple()
    if isinstance(result, dict):
        result = list(result.values())
    return [t for v in result for t in tensors_of(v)] if isinstance(result, list | tuple) else []


def _picture(size: int) -> torch.Tensor:
    return torch.randn(2, 3, size, size, generator=torch.Generator().manual_seed(1))


_SIDES = {"inception_v3": 128, "googlenet": 96, "alexnet": 96, "maxvit_t": 224}


def of_torchvision(name: str) -> Case:
    """Return a model of torchvision, with small pictures."""
    import torchvision

    parameters = inspect.signature(torchvision.models.get_model_builder(name)).parameters
    more: dict[str, Any] = {"weights_backbone": None} if "weights_backbone" in parameters else {}
    if "rcnn" in name or name.startswith(("retinanet", "fcos")):
        more |= {"min_size": 64, "max_size": 64}
    model = torchvision.models.get_model(name, weights=None, **more).eval()
    module = type(model).__module__
    if "detection" in module:
        return _Pictures(model), {"x": _picture(64)}
    if "video" in module:
        return model, {"x": torch.randn(1, 3, 16, 112, 112)}
    if "optical_flow" in module:
        return model, {"image1": _picture(128), "image2": _picture(128).flip(0)}
    return model, {"x": _picture(224 if name.startswith("vit_") else _SIDES.get(name, 64))}


class _Pictures(torch.nn.Module):
    """A detector that takes a batch of pictures of one size."""

    def __init__(self, model: torch.nn.Module):
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor) -> Any:
        return self.model(list(x.unbind(0)))


def of_timm(name: str) -> Case:
    """Return the smallest model of a module of timm."""
    import timm

    sizes: list[tuple[int, str]] = []
    for model in timm.list_models(module=name):
        with torch.device("meta"):
            try:
                sizes.append((sum(p.numel() for p in timm.create_model(model).parameters()), model))
            except Exception as error:  # noqa: BLE001 - another model of the module may do
                warnings.warn(f"{model}: {error}", stacklevel=2)
        if len(sizes) >= 12:  # noqa: PLR2004
            break
    for _, model in sorted(sizes):
        result = timm.create_model(model).eval()
        for side in (64, 224, 256, result.default_cfg["input_size"][1]):
            for options in ({"img_size": side}, {}):
                try:
                    result = timm.create_model(model, **options).eval()
                    with torch.no_grad():
                        result(_picture(side))
                    return result, {"x": _picture(side)}
                except Exception:  # noqa: BLE001, S112 - the next size may do
                    continue
    raise NoCase("no size of pictures runs")


_DIFFUSION: dict[str, tuple[dict[str, Any], Callable[[], dict[str, Any]]]] = {
    "UNet2DModel": (
        {"sample_size": 16, "block_out_channels": (16, 32), "layers_per_block": 1, "norm_num_groups": 8,
         "down_block_types": ("DownBlock2D", "AttnDownBlock2D"), "up_block_types": ("AttnUpBlock2D", "UpBlock2D")},
        lambda: {"sample": _picture(16), "timestep": torch.tensor(3)},
    ),
    "UNet2DConditionModel": (
        {"sample_size": 16, "block_out_channels": (16, 32), "layers_per_block": 1, "norm_num_groups": 8,
         "cross_attention_dim": 16, "attention_head_dim": 8,
         "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"),
         "up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D")},
        lambda: {"sample": torch.randn(2, 4, 16, 16), "timestep": torch.tensor(3),
                 "encoder_hidden_states": torch.randn(2, 7, 16)},
    ),
    "UNet3DConditionModel": (
        {"sample_size": 16, "block_out_channels": (16, 32), "layers_per_block": 1, "norm_num_groups": 8,
         "cross_attention_dim": 16, "attention_head_dim": 8,
         "down_block_types": ("CrossAttnDownBlock3D", "DownBlock3D"),
         "up_block_types": ("UpBlock3D", "CrossAttnUpBlock3D")},
        lambda: {"sample": torch.randn(2, 4, 3, 16, 16), "timestep": torch.tensor(3),
                 "encoder_hidden_states": torch.randn(2, 7, 16)},
    ),
    "AutoencoderKL": (
        {"block_out_channels": (16, 32), "norm_num_groups": 8, "latent_channels": 4, "layers_per_block": 1,
         "down_block_types": ("DownEncoderBlock2D",) * 2, "up_block_types": ("UpDecoderBlock2D",) * 2},
        lambda: {"sample": _picture(16)},
    ),
    "AutoencoderTiny": (
        {"encoder_block_out_channels": (16, 16), "decoder_block_out_channels": (16, 16), "num_encoder_blocks": (1, 1),
         "num_decoder_blocks": (1, 1)},
        lambda: {"sample": _picture(16)},
    ),
    "VQModel": (
        {"block_out_channels": (16, 32), "norm_num_groups": 8, "latent_channels": 3, "num_vq_embeddings": 16,
         "down_block_types": ("DownEncoderBlock2D",) * 2, "up_block_types": ("UpDecoderBlock2D",) * 2},
        lambda: {"sample": _picture(16)},
    ),
    "ControlNetModel": (
        {"block_out_channels": (16, 32), "layers_per_block": 1, "norm_num_groups": 8, "cross_attention_dim": 16,
         "attention_head_dim": 8, "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"),
         "conditioning_embedding_out_channels": (16, 32)},
        lambda: {"sample": torch.randn(2, 4, 16, 16), "timestep": torch.tensor(3),
                 "encoder_hidden_states": torch.randn(2, 7, 16), "controlnet_cond": _picture(32)},
    ),
    "DiTTransformer2DModel": (
        {"num_attention_heads": 2, "attention_head_dim": 16, "in_channels": 4, "num_layers": 2, "sample_size": 8,
         "norm_num_groups": 8},
        lambda: {"hidden_states": torch.randn(2, 4, 8, 8), "timestep": torch.tensor([3, 4]),
                 "class_labels": torch.tensor([1, 2])},
    ),
    "Transformer2DModel": (
        {"num_attention_heads": 2, "attention_head_dim": 16, "in_channels": 32, "num_layers": 1, "sample_size": 8,
         "norm_num_groups": 8, "cross_attention_dim": 16},
        lambda: {"hidden_states": torch.randn(2, 32, 8, 8), "encoder_hidden_states": torch.randn(2, 7, 16)},
    ),
    "SD3Transformer2DModel": (
        {"num_attention_heads": 2, "attention_head_dim": 16, "in_channels": 4, "out_channels": 4, "num_layers": 2,
         "sample_size": 16, "caption_projection_dim": 32, "joint_attention_dim": 16, "pooled_projection_dim": 16,
         "pos_embed_max_size": 16},
        lambda: {"hidden_states": torch.randn(2, 4, 16, 16), "encoder_hidden_states": torch.randn(2, 7, 16),
                 "pooled_projections": torch.randn(2, 16), "timestep": torch.tensor([3.0, 4.0])},
    ),
    "PixArtTransformer2DModel": (
        {"num_attention_heads": 2, "attention_head_dim": 16, "in_channels": 4, "out_channels": 8, "num_layers": 2,
         "sample_size": 8, "cross_attention_dim": 32, "caption_channels": 16, "norm_num_groups": 8},
        lambda: {"hidden_states": torch.randn(2, 4, 8, 8), "encoder_hidden_states": torch.randn(2, 7, 16),
                 "timestep": torch.tensor([3, 4]),
                 "added_cond_kwargs": {"resolution": None, "aspect_ratio": None}},
    ),
    "FluxTransformer2DModel": (
        {"num_attention_heads": 2, "attention_head_dim": 16, "in_channels": 4, "num_layers": 1, "num_single_layers": 1,
         "joint_attention_dim": 16, "pooled_projection_dim": 16, "axes_dims_rope": (4, 6, 6)},
        lambda: {"hidden_states": torch.randn(2, 16, 4), "encoder_hidden_states": torch.randn(2, 7, 16),
                 "pooled_projections": torch.randn(2, 16), "timestep": torch.tensor([0.3, 0.4]),
                 "img_ids": torch.randint(0, 4, (16, 3)).float(), "txt_ids": torch.zeros(7, 3)},
    ),
    "AuraFlowTransformer2DModel": (
        {"num_attention_heads": 2, "attention_head_dim": 16, "in_channels": 4, "out_channels": 4, "num_mmdit_layers": 1,
         "num_single_dit_layers": 1, "sample_size": 16, "caption_projection_dim": 32, "joint_attention_dim": 16,
         "pos_embed_max_size": 64},
        lambda: {"hidden_states": torch.randn(2, 4, 16, 16), "encoder_hidden_states": torch.randn(2, 7, 16),
                 "timestep": torch.tensor([0.3, 0.4])},
    ),
    "CogVideoXTransformer3DModel": (
        {"num_attention_heads": 2, "attention_head_dim": 16, "in_channels": 4, "out_channels": 4, "num_layers": 1,
         "time_embed_dim": 8, "text_embed_dim": 16, "sample_width": 8, "sample_height": 8, "sample_frames": 5,
         "max_text_seq_length": 7},
        lambda: {"hidden_states": torch.randn(2, 2, 4, 8, 8), "encoder_hidden_states": torch.randn(2, 7, 16),
                 "timestep": torch.tensor([3, 4])},
    ),
    "LTXVideoTransformer3DModel": (
        {"num_attention_heads": 2, "attention_head_dim": 16, "in_channels": 8, "out_channels": 8, "num_layers": 1,
         "cross_attention_dim": 32, "caption_channels": 16},
        lambda: {"hidden_states": torch.randn(2, 32, 8), "encoder_hidden_states": torch.randn(2, 7, 16),
                 "timestep": torch.tensor([3, 4]), "encoder_attention_mask": torch.ones(2, 7, dtype=torch.int64),
                 "num_frames": 2, "height": 4, "width": 4},
    ),
    "WanTransformer3DModel": (
        {"num_attention_heads": 2, "attention_head_dim": 12, "in_channels": 4, "out_channels": 4, "num_layers": 1,
         "text_dim": 16, "freq_dim": 32, "ffn_dim": 32},
        lambda: {"hidden_states": torch.randn(2, 4, 2, 8, 8), "encoder_hidden_states": torch.randn(2, 7, 16),
                 "timestep": torch.tensor([3, 4])},
    ),
    "SanaTransformer2DModel": (
        {"num_attention_heads": 2, "attention_head_dim": 16, "in_channels": 4, "out_channels": 4, "num_layers": 1,
         "num_cross_attention_heads": 2, "cross_attention_head_dim": 16, "cross_attention_dim": 32,
         "caption_channels": 16, "sample_size": 8},
        lambda: {"hidden_states": torch.randn(2, 4, 8, 8), "encoder_hidden_states": torch.randn(2, 7, 16),
                 "timestep": torch.tensor([3, 4])},
    ),
    "PriorTransformer": (
        {"num_attention_heads": 2, "attention_head_dim": 16, "num_layers": 1, "embedding_dim": 16, "num_embeddings": 7},
        lambda: {"hidden_states": torch.randn(2, 16), "timestep": torch.tensor(3),
                 "proj_embedding": torch.randn(2, 16), "encoder_hidden_states": torch.randn(2, 7, 16)},
    ),
    "UVit2DModel": (
        {"hidden_size": 32, "encoder_hidden_size": 16, "cond_embed_dim": 16, "micro_cond_encode_dim": 8,
         "micro_cond_embed_dim": 56, "vocab_size": 32, "codebook_size": 24, "num_hidden_layers": 1,
         "num_attention_heads": 2, "in_channels": 32, "block_out_channels": 32, "intermediate_size": 32,
         "block_num_heads": 2, "sample_size": 8},
        lambda: {"input_ids": torch.randint(0, 24, (2, 8, 8)), "encoder_hidden_states": torch.randn(2, 7, 16),
                 "pooled_text_emb": torch.randn(2, 16), "micro_conds": torch.randn(2, 5)},
    ),
    "AutoencoderDC": (
        {"latent_channels": 4, "encoder_block_out_channels": (16, 32), "decoder_block_out_channels": (16, 32),
         "encoder_layers_per_block": (1, 1), "decoder_layers_per_block": (1, 1),
         "encoder_block_types": ("ResBlock", "EfficientViTBlock"),
         "decoder_block_types": ("ResBlock", "EfficientViTBlock"),
         "encoder_qkv_multiscales": ((), (5,)), "decoder_qkv_multiscales": ((), (5,)), "attention_head_dim": 8},
        lambda: {"sample": _picture(16)},
    ),
}  # fmt: skip


def of_diffusers(name: str) -> Case:
    """Return a narrow model of diffusers."""
    import diffusers

    options, arguments = _DIFFUSION[name]
    return getattr(diffusers, name)(**options).eval(), arguments()


def _graph() -> dict[str, torch.Tensor]:
    edges = torch.tensor([[0, 1, 2, 3, 4, 5, 0, 2, 4, 6], [1, 0, 3, 2, 5, 4, 6, 6, 0, 1]])
    return {"x": torch.randn(7, 16, generator=torch.Generator().manual_seed(1)), "edge_index": edges}


_LAYERS: dict[str, dict[str, Any]] = {
    **{
        n: {"in_channels": 16, "out_channels": 8}
        for n in (
            "GCNConv", "SAGEConv", "GraphConv", "GATConv", "GATv2Conv", "TransformerConv", "TAGConv", "SGConv",
            "SSGConv", "ClusterGCNConv", "LEConv", "MFConv", "ResGatedGraphConv", "GeneralConv", "FiLMConv",
            "FeaStConv", "SuperGATConv", "LGConv", "ARMAConv", "EGConv", "SignedConv", "HypergraphConv", "PANConv",
            "WLConvContinuous", "MixHopConv", "AntiSymmetricConv", "GravNetConv", "PDNConv", "GMMConv", "SplineConv",
            "RGCNConv", "FastRGCNConv", "CuGraphSAGEConv", "DirGNNConv", "PointNetConv", "GatedGraphConv",
        )
    },
    "ChebConv": {"in_channels": 16, "out_channels": 8, "K": 3},
    "APPNP": {"K": 2, "alpha": 0.1}, "AGNNConv": {}, "FAConv": {"channels": 16},
    "GCN2Conv": {"channels": 16, "alpha": 0.1},
    "GENConv": {"in_channels": 16, "out_channels": 8}, "PNAConv": {}, "GINConv": {}, "GINEConv": {}, "EdgeConv": {},
    "GPSConv": {},
}  # fmt: skip
_NETS = ("GCN", "GraphSAGE", "GAT", "GIN", "EdgeCNN", "PNA")


def of_torch_geometric(name: str) -> Case:
    """Return a layer of torch_geometric, or one of its basic networks, with a small graph."""
    import torch_geometric.nn as layers

    graph = _graph()
    mlp = torch.nn.Sequential(torch.nn.Linear(16, 8), torch.nn.ReLU(), torch.nn.Linear(8, 8))
    pair = torch.nn.Sequential(torch.nn.Linear(32, 8), torch.nn.ReLU(), torch.nn.Linear(8, 8))
    degree = {"aggregators": ["mean", "max", "std"], "scalers": ["identity", "amplification"],
              "deg": torch.tensor([0, 4, 2, 1])}  # fmt: skip
    if name in _NETS:
        more = degree if name == "PNA" else {}
        return getattr(layers.models, name)(16, 16, 2, 4, **more).eval(), graph
    special: dict[str, Callable[[], Any]] = {
        "GINConv": lambda: layers.GINConv(mlp), "EdgeConv": lambda: layers.EdgeConv(pair),
        "PNAConv": lambda: layers.PNAConv(16, 8, **degree),
        "GPSConv": lambda: layers.GPSConv(16, layers.GCNConv(16, 16), 2),
        "GatedGraphConv": lambda: layers.GatedGraphConv(16, 2), "MixHopConv": lambda: layers.MixHopConv(16, 8),
        "LGConv": layers.LGConv, "WLConvContinuous": layers.WLConvContinuous,
        "AntiSymmetricConv": lambda: layers.AntiSymmetricConv(16),
        "DirGNNConv": lambda: layers.DirGNNConv(layers.SAGEConv(16, 8)), "PANConv": lambda: layers.PANConv(16, 8, 2),
        "SignedConv": lambda: layers.SignedConv(16, 8, True),
    }  # fmt: skip
    layer = special[name]() if name in special else getattr(layers, name)(**_LAYERS[name])
    parameters = inspect.signature(layer.forward).parameters
    if "pos_edge_index" in parameters:
        return layer.eval(), {
            "x": graph["x"],
            "pos_edge_index": graph["edge_index"],
            "neg_edge_index": graph["edge_index"].flip(1),
        }
    if "hyperedge_index" in parameters:
        return layer.eval(), {"x": graph["x"], "hyperedge_index": graph["edge_index"]}
    if "x_0" in parameters:
        graph["x_0"] = graph["x"].flip(0)
    if name.endswith("RGCNConv"):
        layer = type(layer)(16, 8, num_relations=3)
        graph["edge_type"] = torch.tensor([0, 1, 2, 0, 1, 2, 0, 1, 2, 0])
    return layer.eval(), {k: v for k, v in graph.items() if k in parameters}


def _names_of_transformers() -> list[str]:
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    return list(CONFIG_MAPPING_NAMES)


def _names_of_torchvision() -> list[str]:
    import torchvision

    return torchvision.models.list_models()


def _names_of_timm() -> list[str]:
    import timm

    return timm.list_modules()


LIBRARIES: dict[str, tuple[Callable[[], list[str]], Callable[[str], Case]]] = {
    "transformers": (_names_of_transformers, of_transformers),
    "torchvision": (_names_of_torchvision, of_torchvision),
    "timm": (_names_of_timm, of_timm),
    "diffusers": (lambda: [*_DIFFUSION], of_diffusers),
    "torch_geometric": (lambda: [*dict.fromkeys((*_LAYERS, *_NETS))], of_torch_geometric),
}
"""By package: the names of its models, and what makes one."""


def case_of(name: str) -> Case:
    """Return the model `library/name`, with arguments that it runs with. Raises whatever the library raises."""
    library, _, model = name.partition("/")
    return LIBRARIES[library][1](model)


def names(libraries: list[str]) -> Iterator[str]:
    """Yield the names of all models of libraries."""
    for library in libraries:
        yield from (f"{library}/{name}" for name in LIBRARIES[library][0]())
