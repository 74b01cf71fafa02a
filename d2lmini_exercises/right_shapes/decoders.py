"""Tests of a decoder, and of how heads are split and joined, judged by mutants."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from d2lmini.transformer.stacks import DecoderOnlyTransformer
from d2lmini.transformer.state import DecoderState
from d2lmini_exercises.engine import checker
from d2lmini_exercises.right_shapes.judging import Note, Subject, disguise, judge

Twist = Callable[[DecoderOnlyTransformer, Tensor, DecoderState], tuple[Tensor, DecoderState]]


class _Decoder(nn.Module):
    """A decoder that looks the same whatever it computes: `forward` reads from the start, `step` goes on."""

    def __init__(self, inner: DecoderOnlyTransformer, read: Twist, go_on: Twist, max_len: int, note: Note) -> None:
        super().__init__()
        self.inner, self.max_len, self.vocab_size = inner, max_len, inner.embedding.num_embeddings
        self._read, self._go_on, self._note = read, go_on, note

    def __repr__(self) -> str:
        return "Decoder()"

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits `(batch, steps, vocab_size)` for tokens `(batch, steps)`."""
        self._note()
        self._check(tokens, 0)
        return self._read(self.inner, tokens, self.inner.start())[0]

    def start(self) -> DecoderState:
        """The state before the first token."""
        return self.inner.start()

    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Logits for the newest tokens, one or several, and the new state."""
        self._note()
        self._check(tokens, state.num_steps)
        return self._go_on(self.inner, tokens, state)

    def _check(self, tokens: Tensor, seen: int) -> None:
        if seen + tokens.shape[1] > self.max_len:
            raise ValueError(f"model.max_len is {self.max_len}, got {seen + tokens.shape[1]} tokens")


class _Restarting(DecoderOnlyTransformer):
    """The position of what comes after the first step is this much off, or begins at 0 again."""

    late: int | None = None

    def embed(self, tokens: Tensor, start: int | Tensor = 0) -> Tensor:
        if isinstance(start, int) and start > 0:
            start = 0 if self.late is None else start + self.late
        return super().embed(tokens, start)


class _Late(_Restarting):
    late = 1


class _Crowded(DecoderOnlyTransformer):
    """All tokens of a later step stand at the position of its first."""

    def embed(self, tokens: Tensor, start: int | Tensor = 0) -> Tensor:
        if not (isinstance(start, int) and start > 0):
            return super().embed(tokens, start)
        return torch.cat([super(_Crowded, self).embed(tokens[:, [i]], start) for i in range(tokens.shape[1])], dim=1)


def _take(inner: DecoderOnlyTransformer, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
    logits, state, _ = inner.step(tokens, state)
    return logits, state


def _change(how: Callable[[Tensor], Tensor]) -> Twist:
    """As it should be, and then something is done to the logits."""

    def twist(inner: DecoderOnlyTransformer, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        logits, state = _take(inner, tokens, state)
        return how(logits), state

    return twist


def _turn(inner: DecoderOnlyTransformer, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
    """Each token sees itself and what comes later."""
    return _take(inner, tokens.flip(1), state)[0].flip(1), state


def _forget(inner: DecoderOnlyTransformer, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
    """Only the newest three tokens are kept; all count for the positions."""
    kept = tuple(
        (torch.cat([0 * K[:, :, :-3], K[:, :, -3:]], 2), torch.cat([0 * V[:, :, :-3], V[:, :, -3:]], 2))
        for K, V in state.cache
    )
    return _take(inner, tokens, state._replace(cache=kept))


def _read_alone(inner: DecoderOnlyTransformer, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
    """Each token as if it were alone."""
    logits = [_take(inner, tokens[:, [i]], inner.start())[0] for i in range(tokens.shape[1])]
    return torch.cat(logits, dim=1), _take(inner, tokens, state)[1]


def _read_first(inner: DecoderOnlyTransformer, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
    """Every row gets the keys and values of row 0."""
    first = tuple((K[:1].expand(K.shape), V[:1].expand(V.shape)) for K, V in state.cache)
    return _take(inner, tokens, state._replace(cache=first))


def _answer_always(inner: DecoderOnlyTransformer, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
    """The same logits, whatever is read."""
    return _take(inner, 0 * tokens, state)


def _leak(logits: Tensor) -> Tensor:
    return logits + 0.1 * logits.mean(dim=1, keepdim=True)


def _mix(logits: Tensor) -> Tensor:
    return logits + 0.1 * logits.mean(dim=0)


def _mix_with_first(logits: Tensor) -> Tensor:
    return logits + 0.1 * logits[:1]


_LAST = 12  # max_len of the mutants


def _subject(
    hint: str,
    read: Twist = _take,
    go_on: Twist = _take,
    kind: type[DecoderOnlyTransformer] = DecoderOnlyTransformer,
    vocab_size: int = 11,
    max_len: int = _LAST,
    dropout: float = 0.0,
    **others: Any,
) -> Subject:
    def make(note: Note) -> tuple[Any, ...]:
        sizes = {"num_hiddens": 16, "ffn_num_hiddens": 32, "num_heads": 2, "num_blks": 2, "norm_first": True}
        with torch.random.fork_rng():
            torch.manual_seed(1)
            # one position more, for the mutant that counts one too many
            inner = kind(vocab_size=vocab_size, dropout=dropout, max_len=max_len + 1, **(sizes | others))
        return (_Decoder(inner, read, go_on, max_len, note),)

    return Subject(hint, make)


def _stumble(inner: DecoderOnlyTransformer, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
    """Wrong at the last place that there is."""
    logits, state = _take(inner, tokens, state)
    return (logits.flip(-1) if state.num_steps == _LAST else logits), state


def _finish(logits: Tensor) -> Tensor:
    return torch.cat([0 * logits[:, :-1], logits[:, -1:]], dim=1)


_RIGHT = [
    _subject(
        "a right decoder in float32: do you ask for more digits than it has, or for what need not be?",
        dtype=torch.float32,
    ),
    _subject("a right decoder with other sizes: read model.vocab_size and model.max_len", vocab_size=5, max_len=8),
    _subject("a right decoder that is in training mode, with dropout: call model.eval() first", dropout=0.5),
    _subject(
        "a right decoder with rotary positions and post-norm", positions="rotary", norm_first=False, use_bias=True
    ),
    _subject(
        "a right decoder with one block, one head and learned positions", positions="learned", num_heads=1, num_blks=1
    ),
    _subject("a right decoder in float64: compare two outputs of the model", dtype=torch.float64, positions="alibi"),
]
_MUTANTS = [
    _subject("reads from the end", read=_turn),
    _subject("lets a little of what comes later into each logit", read=_change(_leak)),
    _subject("answers one place too early: each logit has seen its target", read=_change(lambda X: X.roll(-1, dims=1))),
    _subject("restarts its positions in decoding", kind=_Restarting),
    _subject("counts its positions wrongly in decoding", kind=_Late),
    _subject("forgets in decoding what was long ago", go_on=_forget),
    _subject("reads each token alone when it reads all at once", read=_read_alone),
    _subject("takes the cache of another row in decoding", go_on=_read_first),
    _subject("lets rows of a batch touch, whether it reads or decodes", read=_change(_mix), go_on=_change(_mix)),
    _subject("lets one row of a batch touch all others", read=_change(_mix_with_first), go_on=_change(_mix_with_first)),
    _subject("leaks when it decodes several tokens in one step", go_on=_change(_leak)),
    _subject("answers for the last token of a step alone", go_on=_change(_finish)),
    _subject("answers without reading", read=_answer_always, go_on=_answer_always),
    _subject("reads no token but the newest", read=_read_alone, go_on=_read_alone),
    _subject("gives all tokens of a step one position, except of the first step", kind=_Crowded),
    _subject("goes wrong in decoding at the last place that there is", go_on=_stumble),
]


@checker("test-decoder", untried="mutants that we have not thought of")
def check_test_decoder(answer: Any) -> str:
    """A test of a decoder that reads all at once and step by step."""
    return judge(answer, _RIGHT, _MUTANTS)


Split = Callable[[Tensor, int], Tensor]
Join = Callable[[Tensor], Tensor]


def _split(X: Tensor, num_heads: int) -> Tensor:
    return X.unflatten(2, (num_heads, -1)).transpose(1, 2)


def _join(heads: Tensor) -> Tensor:
    return heads.transpose(1, 2).flatten(2)


def _split_by_reshape(X: Tensor, num_heads: int) -> Tensor:
    b, n, _ = X.shape
    return X.reshape(b, num_heads, n, -1)


def _join_by_reshape(heads: Tensor) -> Tensor:
    b, _, n, _ = heads.shape
    return heads.reshape(b, n, -1)


def _split_interleaved(X: Tensor, num_heads: int) -> Tensor:
    return X.unflatten(2, (-1, num_heads)).permute(0, 3, 1, 2)


def _mix_examples(X: Tensor, num_heads: int) -> Tensor:
    b, n, _ = X.shape
    return X.reshape(b, n, num_heads, -1).transpose(1, 2).reshape(num_heads, b, n, -1).transpose(0, 1)


def _unmix_examples(heads: Tensor) -> Tensor:
    b, num_heads, n, _ = heads.shape
    return _join(heads.transpose(0, 1).reshape(b, num_heads, n, -1))


def _split_into_chunks(X: Tensor, num_heads: int) -> Tensor:
    return torch.stack(X.chunk(num_heads, dim=2), dim=1)


def _join_one_by_one(heads: Tensor) -> Tensor:
    return torch.cat([heads[:, i] for i in range(heads.shape[1])], dim=2)


def _pair(hint: str, split: Split = _split, join: Join = _join) -> Subject:
    def make(note: Note) -> tuple[Any, ...]:
        return disguise(split, note), disguise(join, note)

    return Subject(hint, make)


_PAIRS = [
    _pair("a right pair: try it on unflatten(2, (num_heads, -1)).transpose(1, 2) and its inverse"),
    _pair("a right pair that stacks chunks and joins them one by one", _split_into_chunks, _join_one_by_one),
    _pair(
        "a right pair whose results are contiguous: judge by the numbers",
        lambda X, num_heads: _split(X, num_heads).contiguous(),
        lambda heads: _join(heads.contiguous()).clone(),
    ),
]
_WRONG_PAIRS = [
    _pair("forgets a transpose on the way in", split=_split_by_reshape),
    _pair("forgets a transpose on the way out", join=_join_by_reshape),
    _pair("is wrong twice, and there and back everything is in its place", _split_by_reshape, _join_by_reshape),
    _pair(
        "gives each head other numbers of a token than it should, and puts them back",
        _split_interleaved,
        lambda heads: heads.permute(0, 2, 3, 1).flatten(2),
    ),
    _pair(
        "takes the heads in another order, and puts them back",
        lambda X, num_heads: _split(X, num_heads).flip(1),
        lambda heads: _join(heads.flip(1)),
    ),
    _pair("mixes the examples of a batch, and sorts them again", _mix_examples, _unmix_examples),
    _pair(
        "turns time round inside the heads, and back",
        lambda X, num_heads: _split(X, num_heads).flip(2),
        lambda heads: _join(heads.flip(2)),
    ),
    _pair("has one head several times", lambda X, num_heads: _split(X, num_heads)[:, :1].expand(-1, num_heads, -1, -1)),
    _pair(
        "is right at the first token alone",
        lambda X, num_heads: torch.cat([_split(X, num_heads)[:, :, :1], _split(X, num_heads)[:, :, 1:].flip(2)], 2),
    ),
    _pair("gives all examples the heads of the first", lambda X, num_heads: _split(X[:1].expand(X.shape), num_heads)),
    _pair("joins the first head alone", join=lambda heads: _join(torch.cat([heads[:, :1], 0 * heads[:, 1:]], dim=1))),
    _pair("joins the heads in the wrong order", join=lambda heads: _join(heads.flip(1))),
    _pair(
        "makes 0 of numbers that it should only move, if they are negative",
        lambda X, num_heads: _split(X, num_heads).clamp(min=0),
    ),
]


@checker("test-heads", untried="mutants that we have not thought of")
def check_test_heads(answer: Any) -> str:
    """A test of `split(X, num_heads)` and `join(heads)`."""
    return judge(answer, _PAIRS, _WRONG_PAIRS)
