"""What is written: sequences shifted by a step, and drafts that a larger model checks."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lmini_exercises.engine import WrongAnswer, are_equal, convert_arrays, exercise

_CLAIM = "there is one call of decoder.step"


def count(
    decoder: Any, state: Any, last: Tensor, draft: Tensor, *, count: Any = lambda same: same.long().cumprod(0).sum()
) -> Any:
    """How many tokens of the draft are right, right unless told otherwise."""
    logits = decoder.step(torch.cat([last, draft[:, :-1]], dim=1), state)[0]
    return count((logits.argmax(-1) == draft)[0])


def count_late(decoder: Any, state: Any, last: Tensor, draft: Tensor) -> Any:
    logits = decoder.step(torch.cat([last, draft], dim=1), state)[0]
    return (logits[0, 1:].argmax(-1) == draft[0]).long().cumprod(0).sum()


def count_longest(same: Tensor) -> int:
    longest = now = 0
    for right in same.tolist():
        now = now + 1 if right else 0
        longest = max(longest, now)
    return longest


def count_while(same: Tensor) -> int:
    i = 0
    while same[i]:
        i += 1
    return i


class Watched(nn.Module):
    """A decoder in evaluation mode that notes what it is given."""

    def __init__(self, step: Any) -> None:
        super().__init__()
        self.write, self.calls = step, list[tuple[Tensor, Any]]()
        self.eval()

    def step(self, tokens: Tensor, state: Any, **_: Any) -> Any:
        """Logits first."""
        if self.training:
            hint = "greedy decoding runs in evaluation mode: leave the decoder in it"
            raise WrongAnswer("the decoder is in evaluation mode", hint)
        if not isinstance(tokens, Tensor) or tokens.dim() != 2 or len(tokens) != 1:
            hint = "the draft is one sequence, (1, k): each token of it is read after those before it"
            got = tuple(tokens.shape) if isinstance(tokens, Tensor) else type(tokens).__name__
            raise WrongAnswer("decoder.step is given tokens of shape (1, steps)", hint, got=got)
        self.calls.append((tokens, state))
        return self.write(tokens.long(), state if isinstance(state, Tensor) else 0)

    def forward(self, *_: Any, **__: Any) -> None:
        """Refused: it has no state."""
        raise WrongAnswer(_CLAIM, "decoder.step(inputs, state) goes on from what the decoder has seen so far")


def use_draft(answer: Any, decoder: Any, state: Tensor, last: Tensor, draft: Tensor) -> Any:
    """The number of tokens, if it took one step, from this state and with these tokens."""
    watched, before, right = Watched(decoder.step), state.clone(), torch.cat([last, draft], dim=1)
    found = answer(watched, state, last, draft)
    if len(watched.calls) != 1:
        hint = "the draft is known: give all of it to the decoder at once"
        raise WrongAnswer(_CLAIM, hint, got=len(watched.calls))
    inputs, used = watched.calls[0]
    if not isinstance(used, Tensor) or not are_equal(used, before):
        raise WrongAnswer(
            "decoder.step is given the state", "the decoder goes on from what it has seen so far", got=used
        )
    read, claim = min(inputs.shape[1], right.shape[1]), "decoder.step is given the tokens"
    if not torch.equal(inputs[:, :1], right[:, :1]):
        hint = "logits at place i belong to the token after input i: the first input is last"
        raise WrongAnswer(claim, hint, expected=right[:, :-1], got=inputs)
    if not torch.equal(inputs[:, :read], right[:, :read]):
        raise WrongAnswer(
            claim, "the inputs are last, and then the draft, each token once", expected=right[:, :-1], got=inputs
        )
    return found


def write(by: int, slope: float, before: int, first: int, length: int, wrong: int) -> str:
    """The code for a decoder whose next token depends on the sum of all tokens so far, which is its state, and a draft.

    Args:
        by: the next token is `by * sum + 1`, modulo ten.
        slope: how far the logits fall from each token to the next one; the right token has the largest.
        before: the sum of the tokens before.
        first: the newest token.
        length: tokens in the draft.
        wrong: the one that is not what greedy decoding writes; those behind it go on from it.
    """
    tokens = [first]
    for i in range(length):
        tokens.append((by * (before + sum(tokens)) + 1 + (i == wrong)) % 10)  # a wrong one has the second largest logit
    logits = f"total % 7 - 3 - {slope} * ((torch.arange(10) - {by} * total - 1) % 10)"
    step = "lambda tokens, state: (write((state + tokens.cumsum(1))[..., None]), state + tokens.sum(), None)"
    code = f"write = lambda total: {logits}; import types; decoder = types.SimpleNamespace(step={step})"
    numbers = (
        f"state = torch.tensor([[{before}]]); last = torch.tensor([[{first}]]); draft = torch.tensor([{tokens[1:]}])"
    )
    return f"{code}; {numbers}"


exercise(
    "check-draft",
    count,
    tuple(
        write(*given)
        for given in (
            (1, 0.1, 4, 8, 7, 2),
            (7, 2.0, 0, 5, 5, 5),
            (3, 0.1, 1, 4, 6, 0),
            (7, 4.0, 8, 9, 4, 3),
            (3, 0.1, 2, 0, 1, 0),
            (3, 0.1, 0, 4, 1, 1),
            (3, 0.01, 1, 4, 5, 3),
        )
    ),
    {
        "all of the draft is right: is there a first wrong token?": (
            {"count": lambda same: same.long().argmin()},
            {"count": lambda same: (~same).nonzero()[0]},
            {"count": lambda same: same.tolist().index(False)},
            {"count": count_while},
            {"count": lambda same: -1 if same.all() else same.long().argmin()},
        ),
        "how many tokens has the draft? Each of them can be right": {
            "count": lambda same: same[:-1].long().cumprod(0).sum()
        },
        "the wrong token itself does not count": {
            "count": lambda same: min(len(same), int(same.long().cumprod(0).sum()) + 1)
        },
        "the first token of this draft is right: what does the decoder write after last?": (
            {"count": lambda same: 0},
            {"count": lambda same: int(same.all()) * len(same)},
            count_late,
        ),
        "the longest run of right tokens need not be the first": {"count": count_longest},
        "after the first wrong token later matches mean nothing": {"count": lambda same: same.sum()},
        "does greedy decoding write each token of the draft?": {"count": len},
    },
    claim="it is the number of right tokens before the first wrong one",
    verified="drafts of 1 to 7 tokens, wrong in front, inside, at the end and nowhere: each counted in one step",
    hint="print, for each place, what the decoder has read, what it writes there, and the draft: "
    "what it writes depends on all tokens before",
    use=use_draft,
)


IGNORED = -100  # the label that F.cross_entropy leaves out


def shift(
    target: Tensor,
    valid_lens: Tensor,
    bos: int,
    eos: int,
    *,
    lens: Any = lambda t, n: n,
    begin: Any = lambda bos, eos: bos,
    end: Any = lambda bos, eos: eos,
    read: Any = lambda inputs, labels, after, eos: inputs,
    ask: Any = lambda inputs, labels, after, eos: labels,
) -> tuple[Tensor, Tensor]:
    """Inputs and labels, right unless told otherwise; `after` is how far a place lies behind the last token."""
    after = torch.arange(target.shape[1] + 1) - lens(target, valid_lens)[:, None]
    inputs = F.pad(target, (1, 0), value=begin(bos, eos))
    labels = F.pad(target, (0, 1)).masked_fill(after > 0, IGNORED).masked_fill(after == 0, end(bos, eos))
    return read(inputs, labels, after, eos), ask(inputs, labels, after, eos)


def use(answer: Any, target: Tensor, valid_lens: Tensor, bos: int, eos: int) -> Any:
    """Two tensors of integers."""
    found = convert_arrays(answer(target, valid_lens, bos, eos))
    parts = found if isinstance(found, (tuple, list)) else [found]
    if len(parts) != 2 or not all(isinstance(part, Tensor) for part in parts):
        got = " and ".join(type(part).__name__ for part in parts)
        raise WrongAnswer("it returns two tensors", "return inputs, labels", got=got)
    if any(part.dtype != torch.int64 for part in parts):
        got = f"{parts[0].dtype} and {parts[1].dtype}"
        raise WrongAnswer("both are int64, as target is", "nn.Embedding and F.cross_entropy ask for it", got=got)
    return found


def follow(inputs: Tensor, last: int) -> Tensor:
    """The row, and behind it another number."""
    return F.pad(inputs[:, 1:], (0, 1), value=last)


exercise(
    "shifted-targets",
    shift,
    tuple(
        f"target = torch.tensor({rows}); valid_lens = torch.tensor({lens}); bos, eos = {bos}, {eos}"
        for rows, lens, bos, eos in (
            ([[5, 3, 8, 2]], [4], 10, 11),
            ([[5, 3, 8, 2], [4, 0, 0, 0], [6, 1, 0, 0]], [4, 1, 2], 12, 9),
            ([[0, 3, 0, 2]], [3], 23, 20),
            ([[7, 7]], [0], 9, 40),
        )
    ),
    {
        "label and input are the same token: what does the decoder learn from that? The loss would be 0": {
            "ask": lambda inputs, labels, after, eos: inputs
        },
        "inputs and labels are views of the same tensor: what you write into one is in the other, too": {
            "read": lambda inputs, labels, after, eos: torch.cat([inputs[:, :1], labels[:, :-1]], dim=1)
        },
        "the decoder has bos in front; eos is for the labels": (
            {"begin": lambda bos, eos: eos},
            {"begin": lambda bos, eos: eos, "end": lambda bos, eos: bos},
        ),
        "eos is an answer of the decoder, not a question to it": {
            "read": lambda inputs, labels, after, eos: inputs.masked_fill(after == 1, eos)
        },
        "bos and eos are given: other sentences have other numbers for them": (
            {"begin": lambda bos, eos: 10},
            {"begin": lambda bos, eos: eos - 1},
            {"end": lambda bos, eos: 11},
            {"end": lambda bos, eos: bos + 1},
        ),
        "bos goes in front, not behind": {"read": lambda inputs, labels, after, eos: inputs.roll(-1, 1)},
        "-100 is for the labels: an embedding has no row of that number": (
            {"read": lambda inputs, labels, after, eos: inputs.masked_fill(after > 0, IGNORED)},
            {"read": lambda inputs, labels, after, eos: inputs.masked_fill(after >= 0, IGNORED)},
        ),
        "the row is taken as it is, padding included: nothing is changed in it": (
            {"read": lambda inputs, labels, after, eos: inputs.masked_fill(after > 0, 0)},
            {"read": lambda inputs, labels, after, eos: inputs.masked_fill(after > 0, eos)},
            {"read": lambda inputs, labels, after, eos: torch.cat([inputs[:, :1], inputs[:, :-1]], dim=1)},
        ),
        "first inputs, then labels": lambda *given: shift(*given)[::-1],
        "0 may be a real token: only valid_lens knows what is padding": (
            {"ask": lambda inputs, labels, after, eos: labels.masked_fill(labels == 0, IGNORED)},
            {"lens": lambda target, lens: (target != 0).sum(dim=1)},
        ),
        "after the last token that counts, which each row has at a place of its own, not at the end of the row": (
            {
                "ask": lambda inputs, labels, after, eos: F.pad(
                    labels.masked_fill(after == 0, IGNORED)[:, :-1], (0, 1), value=eos
                )
            },
            {"ask": lambda inputs, labels, after, eos: follow(inputs, eos)},
            {"lens": lambda target, lens: lens.max().expand(len(lens))},
        ),
        "how does the decoder learn where to stop?": {
            "ask": lambda inputs, labels, after, eos: labels.masked_fill(after == 0, IGNORED)
        },
        "what does the loss ask at the padding? -100 keeps it quiet": {
            "ask": lambda inputs, labels, after, eos: labels.where(after <= 0, follow(inputs, 0))
        },
        "the *next* token: at place 0 that is the first token of the row": {
            "ask": lambda inputs, labels, after, eos: follow(labels, IGNORED)
        },
        "-100 after eos, not eos everywhere": {
            "ask": lambda inputs, labels, after, eos: labels.masked_fill(after > 0, eos)
        },
        "eos stands behind the last token that counts, not in its place": (
            {"lens": lambda target, lens: lens - 1},
            {"ask": lambda inputs, labels, after, eos: follow(inputs, 0).masked_fill(after == -1, eos)},
        ),
    },
    claim="bos and the row are read, and the token that comes next is the answer",
    verified="next tokens, eos after the last that counts, -100 at the padding, target unchanged",
    hint="bos goes in front of the row, and nothing is left out. At each place: what comes next? After the last token "
    "that counts: eos. Then: -100",
    use=use,
    parts=("inputs", "labels"),
    together=2,
)
