"""What a decoder computes and keeps, counted."""

from d2lmini_exercises.prediction import Number, prediction

# Weights of cross-attention, numbers in a key-value cache.
prediction(
    "predict-decoder",
    Number(
        "(a)",
        35,
        hint="a row for each query, a column for each key: who asks, and who is asked?",
        mistakes={
            "the keys come from the encoder: how wide is the matrix?": 25,
            "the queries come from the decoder: how many rows has the matrix?": 49,
            "what is hidden by a causal mask? The source sentence is known from the beginning": 15,
            "each query has a weight for each key": 12,
            "one block, not both": 70,
        },
    ),
    Number(
        "(b)",
        3072,
        hint="how many vectors are kept for each token, in each block? And which tokens are there?",
        mistakes={
            "a key and a value, in each of the two blocks: what did you leave out?": 1536,
            "a key and a value, in each of the two blocks": 768,
            "the memory has keys and values, too, and they are kept": 1280,
            "those of the decoder's own tokens are kept, too": 1792,
            "<bos> is one of the five tokens": 3328,
            "<bos> has a key and a value, too": 2816,
            "nobody asks an old query again: it is not kept": 4608,
            "each key and each value is a vector of 64 numbers": 48,
        },
    ),
    right="35 and 3072: both are right",
)
