"""The attentions of a model of transformers caught at work, and multi_head asked for the same."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from attnviz.core.masks import combine
from attnviz.core.multi_head import MultiHead, multi_head

Named = dict[str, Tensor]


class Site(NamedTuple):
    """Where in a model an attention stands, and what it should be."""

    reads: nn.Module  # is called with the hidden states
    gives: nn.Module  # returns the output, after its projection
    parameters: Named  # by the model's names
    rename: Callable[[Named], Named]  # parameters, or their gradients, by the names of multi_head
    mask: Tensor
    options: dict[str, Any]  # of multi_head
    buckets: Tensor | None = None  # (s, u): T5's mask is also the parameter table[buckets], (s, u, h)


class Layer(NamedTuple):
    """What the attention at a site read, and what it gave."""

    site: Site
    x: Tensor  # (b, s, m), a leaf
    context: Tensor | None  # (b, u, m'), a leaf
    output: Tensor  # (b, s, m), with its graph
    weights: Tensor  # (b, h, s, u), as the whole model returns them


def linear(q: str, k: str, v: str, o: str) -> Callable[[Named], Named]:
    """How nn.Linear modules of these names are renamed: they keep the transposes of w_q, w_k, w_v, w_o."""

    def rename(parameters: Named) -> Named:
        found = {}
        for name, module in zip("qkvo", (q, k, v, o), strict=True):
            found[f"w_{name}"] = parameters[f"{module}.weight"].mT
            if f"{module}.bias" in parameters:
                found[f"b_{name}"] = parameters[f"{module}.bias"]
        return found

    return rename


def fused(parameters: Named) -> Named:
    """How GPT-2's are renamed: c_attn is w_q, w_k, w_v side by side, and nothing is transposed."""
    found = dict(zip(("w_q", "w_k", "w_v"), parameters["c_attn.weight"].chunk(3, dim=-1), strict=True))
    found |= dict(zip(("b_q", "b_k", "b_v"), parameters["c_attn.bias"].chunk(3), strict=True))
    return found | {"w_o": parameters["c_proj.weight"], "b_o": parameters["c_proj.bias"]}


def with_table(rename: Callable[[Named], Named]) -> Callable[[Named], Named]:
    """How T5's are renamed, of which the table of biases is one more."""
    return lambda parameters: rename(parameters) | {"table": parameters["table"]}


def drawn(model: Any) -> Any:
    """The model in float64, its weights so large that attention is far from even, its biases not zero."""
    generator = torch.Generator().manual_seed(0)
    for name, parameter in model.named_parameters():
        if parameter.ndim > 1 or name.endswith("bias"):  # the scales of layer norms stay 1
            nn.init.normal_(parameter, std=0.5, generator=generator)
    return model.double().eval()  # eval: without dropout


def named(*modules: tuple[str, nn.Module]) -> Named:
    return {f"{name}{inner}": parameter for name, module in modules for inner, parameter in module.named_parameters()}


def run(model: Any, sites: list[Site], inputs: Named) -> list[Layer]:
    """Run the whole model once; what each site reads is replaced by an equal leaf, so that gradients end there."""
    read: list[Named] = [{} for _ in sites]
    given: dict[int, Tensor] = {}

    def before(i: int, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        kwargs = {"hidden_states": args[0]} | kwargs if args else dict(kwargs)
        for name in ("hidden_states", "key_value_states"):
            if kwargs.get(name) is not None:
                kwargs[name] = read[i][name] = kwargs[name].detach().requires_grad_()
        return (), kwargs

    def after(i: int, output: Any) -> None:
        given[i] = output[0] if isinstance(output, tuple) else output

    for i, site in enumerate(sites):
        site.reads.register_forward_pre_hook(lambda _, args, kwargs, i=i: before(i, args, kwargs), with_kwargs=True)
        site.gives.register_forward_hook(lambda _, args, output, i=i: after(i, output))
    said = model(**inputs, output_attentions=True, use_cache=False)
    names = ("attentions", "encoder_attentions", "decoder_attentions", "cross_attentions")  # in the order of sites
    weights = [of_layer for name in names for of_layer in said.get(name, ())]
    return [
        Layer(site, read[i]["hidden_states"], read[i].get("key_value_states"), given[i], weights[i])
        for i, site in enumerate(sites)
    ]


def rebuild(layer: Layer) -> tuple[MultiHead, Named]:
    """The same attention by multi_head, and copies, by name, of all that it was made of, as leaves."""
    leaves = {"x": layer.x, **layer.site.rename(layer.site.parameters)}
    if layer.context is not None:
        leaves["context"] = layer.context
    leaves = {name: tensor.detach().clone().requires_grad_() for name, tensor in leaves.items()}
    mask: Tensor | None = layer.site.mask
    if layer.site.buckets is not None:
        mask = combine(mask, leaves["table"][layer.site.buckets].permute(2, 0, 1))  # (h, s, u) and what is hidden
    arguments = {name: leaf for name, leaf in leaves.items() if name != "table"}
    return multi_head(**arguments, mask=mask, **layer.site.options), leaves


def gradients(layer: Layer, scalar: Tensor) -> Named:
    """Of a scalar made of layer.output, by the model's own graph, by the names that rebuild's leaves have."""
    inputs = {"x": layer.x} | ({} if layer.context is None else {"context": layer.context})
    asked = inputs | layer.site.parameters
    found = dict(zip(asked, torch.autograd.grad(scalar, list(asked.values()), retain_graph=True), strict=True))
    return {name: found[name] for name in inputs} | layer.site.rename(found)
