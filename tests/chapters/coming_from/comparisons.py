"""How the two sides of each row are compared."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._dynamo.exc import UserError
from torch.jit.frontend import NotSupportedError
from torch.nn import functional as F
from torch.testing import assert_close

import d2lmini as d2l
from d2lmini.loading import load_parameters
from tests import d2l_reference
from tests.chapters.coming_from.sides import Cell, Names, shake

Compare = Callable[[Cell, Cell], None]
CHANGED = 1e-3  # a thousand times what rounding does


def same(there: Cell, here: Cell) -> None:
    assert_close(here.run(), there.run())


def same_layer(*inputs: str, load: Callable[[Any, Any], Any] = load_parameters) -> Compare:
    """Both sides make a layer: with the same parameters they compute the same."""

    def compare(there: Cell, here: Cell) -> None:
        theirs, ours = there.run(), here.run()
        values = [here.names[name] for name in inputs]
        theirs(*values)  # D2L's layers have no parameters before
        shake(theirs)
        load(ours, theirs.state_dict())
        assert_close(ours(*values), theirs(*values))

    return compare


def load_theirs(there: Cell, here: Cell) -> tuple[Any, Any]:
    """The two layers, with the same parameters."""
    theirs, ours = there.run(), here.run()
    load_parameters(ours, theirs.state_dict())
    return theirs, ours


def weights_of_d2l(there: Cell, here: Cell) -> None:
    theirs, ours = there.run(), here.run()
    assert_close(ours.flatten(0, 1), theirs)
    assert ours.shape == (3, 4, 6, 6) and not hasattr(here.names["attention"].attention, "attention_weights")


def no_keys_in_d2l(there: Cell, here: Cell) -> None:
    theirs, ours = there.run(), here.run()
    assert_close(ours[:2], theirs[:2])
    assert (ours[2] == 0).all()
    assert_close(theirs[2], torch.full((6, 6), 1 / 6))
    assert (there.names["scores"] != here.names["scores"]).any()


def low_scores_in_d2l(there: Cell, here: Cell) -> None:
    hidden = here.names["ignored"][:, None].expand(3, 6, 6)
    assert (here.run()[hidden] == 0).all()
    assert_close((there.run() * hidden)[1:].sum(dim=-1), torch.ones(2, 6))


def positions_of_d2l(there: Cell, here: Cell) -> None:
    same(there, here)
    i, j = torch.arange(1000.0).double()[:, None], torch.arange(256).double()
    angles = i / 10000 ** (j / 256)
    exact = torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)[None]
    assert 5e-5 < (d2l_reference.PositionalEncoding(512, 0.0).P - exact).abs().max() < 6.5e-5
    assert (d2l.PositionalEncoding(512, 0.0).P - exact).abs().max() < 1e-7


def encoder_of_d2l(there: Cell, here: Cell) -> None:
    assert_close(here.run(), there.run(), atol=1e-5, rtol=1e-5)
    table = there.names["encoder"].embedding.weight
    assert_close(here.names["encoder"].embedding.weight, table * math.sqrt(here.names["d"]))
    here.names["encoder"].embedding.weight.data.copy_(table)
    assert (here.run() - there.run()).abs().max() > CHANGED


def decoder_of_d2l(there: Cell, here: Cell) -> None:
    assert_close(here.run(), there.run(), atol=1e-5, rtol=1e-5)
    for cell in (there, here):
        cell.names["decoder"].eval()
    assert (here.run() - there.run()).abs().max() > CHANGED


def decoding_of_d2l(there: Cell, here: Cell) -> None:
    there.names["decoder"].eval()
    (theirs, _), (ours, state, _) = there.run(), here.run()
    assert_close(ours, theirs, atol=1e-5, rtol=1e-5)
    assert here.names["state"].num_steps == 0 and there.names["state"][2][0] is not None
    decoder, tokens = here.names["decoder"], here.names["tokens"]
    second, whole = decoder.step(tokens[:, 1:2], state)[0], decoder(tokens, here.names["memory"], here.names["lens"])
    assert_close(second, whole[:, 1:2])
    theirs, _ = there.names["decoder"](tokens[:, 1:2], there.names["state"])
    assert (second - theirs).abs().max() > CHANGED


def one_tensor(there: Cell, here: Cell) -> None:
    same(there, here)
    assert nn.MultiheadAttention(4, 2).in_proj_bias is not None
    assert d2l.MultiHeadAttention(4, 4, 4, 4, 2, 0.0).W_q.bias is None


def weights_of_pytorch(there: Cell, here: Cell) -> None:
    same(there, here)
    there.names["theirs"].dropout = here.names["ours"].attention.dropout.p = 0.5
    assert_close(here.run().sum(dim=-1), torch.ones(3, 6))
    assert (there.run().sum(dim=-1) - 1).abs().max() > CHANGED


def other_sizes(there: Cell, here: Cell) -> None:
    theirs, ours = load_theirs(there, here)
    queries, keys, values = torch.randn(3, 6, 16), torch.randn(3, 5, 8), torch.randn(3, 5, 12)
    assert_close(ours(queries, keys, values), theirs(queries, keys, values)[0])


def no_keys_in_pytorch(there: Cell, here: Cell) -> None:
    assert there.run().isnan().all() and (here.run() == 0).all()


def queries_at_the_end(there: Cell, here: Cell) -> None:
    X = here.names["X"]
    whole = F.scaled_dot_product_attention(X, X, X, is_causal=True)
    assert_close(here.run(), whole[:, 4:])
    first = torch.ones(2, 6).tril().bool()
    assert_close(there.run(), F.scaled_dot_product_attention(X[:, 4:], X, X, attn_mask=first))


def end_to_end(there: Cell, here: Cell) -> None:
    for theirs, ours in zip(there.run().unbind(), here.run(), strict=True):
        assert_close(ours[: theirs.shape[1]], theirs[0])


def decoder_layer_of_pytorch(there: Cell, here: Cell) -> None:
    theirs, ours = load_theirs(there, here)
    X, E, mask = here.names["X"], torch.randn(3, 5, 16), here.names["mask"]
    E_made_once = ours.cross_attention.keys_and_values(E, E)
    assert_close(ours(X, E_made_once)[0], theirs(X, E, tgt_mask=~mask))
    assert (ours(X, E_made_once)[0] - theirs(X, E)).abs().max() > CHANGED


def encoder_of_pytorch(there: Cell, here: Cell) -> None:
    theirs, ours = there.run(), here.run()
    assert theirs.layers[0].linear1.weight.equal(theirs.layers[1].linear1.weight)
    assert not ours.blks[0].ffn.dense1.weight.equal(ours.blks[1].ffn.dense1.weight)
    for layer, blk in zip(theirs.layers, ours.blks, strict=True):
        shake(layer)
        load_parameters(blk, layer.state_dict())
    tokens = torch.randint(here.names["vocab_size"], (3, 6))
    assert_close(ours(tokens), theirs(ours.embedding(tokens) + ours.on_tokens.P[:, :6]))


def same_mask(there: Cell, here: Cell) -> None:
    """Both hide the same, and what they hide matters."""
    same(there, here)
    assert (here.run() - here.names["ours"](*[here.names["X"]] * 3)).abs().max() > CHANGED


def grouped_heads_of_torchtune(there: Cell, here: Cell) -> None:
    theirs, ours, X = there.run(), here.run(), here.names["X"]
    parts = {"W_q": theirs.q_proj, "W_k": theirs.k_proj, "W_v": theirs.v_proj, "W_o": theirs.output_proj}
    load_parameters(ours, {f"{n}.{kind}": getattr(parts[n], kind) for n in parts for kind in ("weight", "bias")})
    assert_close(ours(X, X, X, causal=True), theirs(X, X))


def a_kept_state(there: Cell, here: Cell) -> None:
    same(there, here)
    gpt, tokens, state = here.names["gpt"], here.names["tokens"], here.names["state"]
    for token in (0, 1):
        other = torch.full((3, 1), token)
        assert_close(gpt.step(other, state)[0][:, 0], gpt(torch.cat([tokens[:, :4], other], dim=1))[:, 4])


def left_padding(there: Cell, here: Cell) -> None:
    counts = here.names["left"].bool()
    assert_close(here.run()[counts], there.run()[counts])
    without_positions = there.names["model"](here.names["tokens"], attention_mask=here.names["left"]).logits
    assert (here.run() - without_positions)[counts].abs().max() > CHANGED


def no_keys_in_hugging_face(there: Cell, here: Cell) -> None:
    assert (here.run() == 0).all()
    ours, X = here.names["ours"], here.names["X"]
    assert_close(there.run(), ours.W_o(ours.W_v(X).mean(dim=1, keepdim=True)).expand(3, 6, -1))


def pairs_of_hugging_face(there: Cell, here: Cell) -> None:
    same(there, here)
    assert (d2l.apply_rotary(here.names["Q"]) - there.run()).abs().max() > CHANGED


def alibi_of_hugging_face(there: Cell, here: Cell) -> None:
    mask, attention_mask = here.names["mask"], torch.ones(3, 6).long()
    there.names["attention_mask"] = attention_mask
    theirs, ours = there.run().unflatten(0, (3, 4)), here.run()
    scores = torch.randn(3, 4, 6, 6).masked_fill(~mask, -math.inf)
    assert_close((scores + ours).softmax(dim=-1), (scores + theirs).softmax(dim=-1))
    assert (ours - theirs).abs().max() > CHANGED


def call(ours: nn.Module, X: Tensor) -> Tensor:
    """The layer of the page, without what does not work."""
    return ours(X, X, X, need_weights=True)[0]


def find_slope(ours: nn.Module, X: Tensor) -> Tensor:
    """How the sum of what the layer gives changes with X, by reverse mode."""
    X = X.clone().requires_grad_()
    return torch.autograd.grad(call(ours, X).sum(), X)[0]


def evaluate(code: str, names: Names, **more: Any) -> Any:
    return eval(code, names | {"d2l": d2l, "call": call, "find_slope": find_slope} | more)


def differ(meant: str) -> Compare:
    """What is written runs, and gives something else; what is meant gives what PyTorch gives."""

    def compare(there: Cell, here: Cell) -> None:
        expected = evaluate(meant, here.names)
        assert_close(here.run(), expected)
        written = there.run()
        assert written.shape != expected.shape or (written - expected).abs().max() > CHANGED

    return compare


def fails(error: type[Exception], message: str, seen: str, expected: str, tolerance: float = 1e-5) -> Compare:
    """The left fails; what is seen of the result of the right is what one expects of it."""

    def compare(there: Cell, here: Cell) -> None:
        with pytest.raises(error, match=message):
            there.run()
        found = evaluate(seen, here.names, result=here.run())
        assert_close(found, evaluate(expected, here.names), atol=tolerance, rtol=tolerance)

    return compare


COMPARISONS: dict[str, dict[str, Compare]] = {
    "From D2L": {
        "MultiHeadAttention(d, h, dropout)": same_layer("X", "X", "X", "lens"),
        "AdditiveAttention(d, dropout)": same_layer("X", "X", "X", "lens", load=nn.Module.load_state_dict),
        "PositionWiseFFN(ffn, d)": same_layer("X", load=nn.Module.load_state_dict),
        "TransformerEncoderBlock(d, ffn, h, dropout)": same_layer("X", "lens"),
        "attention(X, X, X, lens) attention.attention.attention_weights": weights_of_d2l,
        "attention(X, X, X, lens.float())": same,
        "attention.transpose_qkv(X)": same,
        "masked_softmax(scores, torch.tensor([6, 4, 0]))": no_keys_in_d2l,
        "masked_softmax(scores - 2e6, lens)": low_scores_in_d2l,
        "PositionalEncoding(d, dropout)(X)": positions_of_d2l,
        "encoder(tokens, lens)": encoder_of_d2l,
        "decoder(tokens, decoder.init_state(memory, lens))[0]": decoder_of_d2l,
        "state = decoder.init_state(memory, lens) decoder(tokens[:, :1], state)": decoding_of_d2l,
    },
    "From PyTorch": {
        "theirs(X, X, X)[0]": one_tensor,
        "theirs(X, X, X)[1]": weights_of_pytorch,
        "nn.MultiheadAttention(16, 4, kdim=8, vdim=12, batch_first=True)": other_sizes,
        "theirs(X, X, X, key_padding_mask=ignored)[0]": same_mask,
        "theirs(X, X, X, key_padding_mask=ignored.flip(1))[0]": same_mask,
        "theirs(X, X, X, attn_mask=~mask)[0]": same_mask,
        "theirs(X, X, X, attn_mask=nn.Transformer.generate_square_subsequent_mask(6))[0]": same_mask,
        "theirs(X, X, X, key_padding_mask=torch.ones(3, 6).bool())[0]": no_keys_in_pytorch,
        "F.scaled_dot_product_attention(X, X, X, attn_mask=mask)": same,
        "F.scaled_dot_product_attention(X, X, X, attn_mask=X @ X.mT)": same,
        "F.scaled_dot_product_attention(X, X, X, is_causal=True)": same,
        "F.scaled_dot_product_attention(X[:, 4:], X, X, is_causal=True)": queries_at_the_end,
        "flex_attention(Q, Q, Q, score_mod=lambda score, b, h, i, j: score - (i - j).abs())[:, 0]": same,
        "flex_attention(Q, Q, Q, block_mask=create_block_mask(lambda b, h, i, j: j <= i, None, None, 6, 6, "
        '"cpu"))[:, 0]': same,
        "F.scaled_dot_product_attention(packed, packed, packed)": end_to_end,
        "nn.TransformerEncoderLayer(d, h, ffn, dropout, batch_first=True)": same_layer("X"),
        "nn.TransformerDecoderLayer(d, h, ffn, dropout, batch_first=True)": decoder_layer_of_pytorch,
        "layer = nn.TransformerEncoderLayer(d, h, ffn, dropout, batch_first=True) nn.TransformerEncoder(layer, 2)": (
            encoder_of_pytorch
        ),
    },
    "From torchtune": {
        "attention(X, X)": same_mask,
        "attention(X, X, mask=pairs)": same_mask,
        "MultiHeadAttention(embed_dim=d, num_heads=h, num_kv_heads=2, head_dim=4, q_proj=nn.Linear(d, d), "
        "k_proj=nn.Linear(d, 8), v_proj=nn.Linear(d, 8), output_proj=nn.Linear(d, d))": grouped_heads_of_torchtune,
        "RotaryPositionalEmbeddings(4)(heads)": same,
        "RotaryPositionalEmbeddings(4)(heads[:, 5:], input_pos=torch.tensor([5]))": same,
    },
    "From Hugging Face": {
        "attention(X, attention_mask)": same_mask,
        "attention(X, left)": same_mask,
        "attention(X, 0 * attention_mask)": no_keys_in_hugging_face,
        "attn(X)": same,
        "apply_rotary_pos_emb(Q, Q, cos, sin)[0]": pairs_of_hugging_face,
        "build_alibi_tensor(attention_mask, h, torch.float32)": alibi_of_hugging_face,
        "_relative_position_bucket(d2l.relative_offsets(300))": same,
        "past = model(tokens[:, :4]).past_key_values model(tokens[:, 4:], past_key_values=past).logits": a_kept_state,
        "position_ids = (left.cumsum(1) - 1).clamp(min=0) "
        "model(tokens, attention_mask=left, position_ids=position_ids).logits": left_padding,
    },
    "Mistakes that raise no error": {
        "output, weights = ours(X[:2], X[:2], X[:2])": differ("theirs(X[:2], X[:2], X[:2])[0]"),
        "ours(Y, Y, Y, mask=~padding)": differ("theirs(Y, Y, Y, key_padding_mask=padding)[0]"),
        "ours(X, X, X, mask=torch.ones(6, 6).triu(1).bool())": differ("theirs(X, X, X, attn_mask=~mask)[0]"),
        "ours(S, S, S)": differ("theirs(X, X, X)[0]"),
    },
    "What does not work": {
        "torch.jit.script(ours)": fails(
            NotSupportedError, "keyword-only arguments", "result.module()(X, X, X)", "call(ours, X)"
        ),
        "torch.fx.symbolic_trace(ours)": fails(
            ValueError, "got Proxy", "'scaled_dot_product_attention' in result.code", "True"
        ),
        "torch.func.jvp(lambda X: ours(X, X, X), (X,), (X,))": fails(
            NotImplementedError, "flash_attention_for_cpu", "result[1].sum()", "(find_slope(ours, X) * X).sum()", 1e-4
        ),
        "torch.autograd.functional.hvp(lambda X: ours(X, X, X).sum(), X, X)": fails(
            *(RuntimeError, "flash_attention_for_cpu", "result[1]"),
            "(find_slope(ours, 1.001 * X) - find_slope(ours, 0.999 * X)) / 2e-3",
            tolerance=1e-2,
        ),
        "torch.vmap(lambda bias: d2l.DotProductAttention(0.0)(X, X, X, bias=bias))"
        "(torch.zeros(2, 6, 6, requires_grad=True))": fails(
            *(RuntimeError, "not differentiable .* 'attn_mask'", "result"),
            "d2l.DotProductAttention(0.0)(X, X, X).expand(2, -1, -1, -1)",
        ),
        "torch.export.export(d2l.RestrictedSelfAttention(d, 2), (X,), "
        'dynamic_shapes=({1: torch.export.Dim("steps")},))': fails(
            UserError, "steps", "result.module()(X).shape", "X.shape"
        ),
        "d2l.RestrictedSelfAttention(d, 2)(X[:, :0])": fails(
            ValueError, "n of at least 1", "result.shape", "(3, 0, 16)"
        ),
    },
}
