"""Sentences that a reader lays, word by word, before one that has two meanings; two layers decide which it has."""

from collections.abc import Sequence

import torch
from torch import Tensor

from d2lmini.explore.numbers import check_lang, check_words, read_numbers, write
from d2lmini.explore.panel import Choice, Panel, build_panel
from d2lmini.explore.tables import Label, PanelTable

__all__ = ["explore_sentences"]


def explore_sentences(
    scores: Tensor,
    votes: Tensor,
    words: Sequence[str],
    titles: Sequence[str],
    senses: Sequence[str],
    *,
    glosses: Sequence[str] | None = None,
    lang: str = "",
) -> Panel:
    """Show what two layers say of a word: choose a layer and another word, see its score and its vote.

    The last word asks. The softmax of the scores of all words of a sentence, the last one among them, weighs their
    votes, and where the sum is positive the layer says the first sense. On the pages of the book a reader lays such
    sentences; in a notebook the panel shows their parts.

    Chapter: Self-attention.

    Args:
        scores: `(2, words)`, the score that the query of the last word gives to each word, for each layer.
        votes: `(2, words)`, the value of each word, one number wide.
        words: the words; the last one is that which has two senses.
        titles: a name for each layer.
        senses: what a positive output means, and what a negative one.
        glosses: what the words mean, in the language of the page.
        lang: the language of the words, such as `"zh"`, so that a screen reader says them right.

    Returns:
        A panel: in a notebook it shows itself as the last value of a cell.

    Raises:
        ValueError: if scores and votes are not two finite rows of one size, there are not as many words, glosses,
            titles and senses as they need, or the panel would have more than 36 KiB.

    >>> scores, votes = torch.tensor([[1.0, 0], [0, 1]]), torch.tensor([[1.0, -1], [1, -1]])
    >>> panel = d2l.explore_sentences(scores, votes, ["eat", "apple"], ["a", "b"], ["fruit", "firm"])
    """
    shape = ("layers", "words")
    numbers = [read_numbers("scores", scores, shape, -1000, 1000), read_numbers("votes", votes, shape, -1000, 1000)]
    for value in numbers:
        check_words("titles", titles, len(value), "layers")
        check_words("words", words, value.shape[1], "columns")
    check_words("titles", titles, 2, "layers")
    check_words("senses", senses, 2, "senses")
    check_lang(lang)
    if glosses is not None:
        check_words("glosses", glosses, len(words), "words")
    meanings = [""] * len(words) if glosses is None else glosses
    labels = [Label(word, gloss, lang) for word, gloss in zip(words, meanings, strict=True)]
    rows = [[[write(number, 2) for number in pair] for pair in layer] for layer in torch.stack(numbers, dim=2).tolist()]
    head = [Label("score"), Label("vote")]
    tables = [
        PanelTable(
            f"{title}: the score that {words[-1]} gives to each word, and the vote of that word",
            head,
            list(zip(labels, layer, strict=True)),
            f"a{a}",
            "b",
        )
        for a, (title, layer) in enumerate(zip(titles, rows, strict=True))
    ]
    sentences = [
        (f"a{a} b{b}", f"{labels[b].html} has the score {score} and votes {vote}, for {senses[vote.startswith('−')]}.")
        for a, layer in enumerate(rows)
        for b, (score, vote) in enumerate(layer)
    ]
    choices = [Choice("a", "Layer", [Label(title) for title in titles]), Choice("b", "Word", labels)]
    data = {"words": words, "glosses": meanings, "lang": lang, "titles": titles, "senses": senses, "layers": rows}
    return build_panel(f"Who decides what {words[-1]} means", choices, sentences, tables, play=("sentences", data))
