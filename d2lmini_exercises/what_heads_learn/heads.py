"""Counting heads, and cutting them out."""

from __future__ import annotations

from d2lmini_exercises.prediction import Number, prediction

# Right answers with two heads of five and with none; removals that twins survive, worst and best order.
prediction(
    "predict-staircase",
    Number(
        "(a)",
        0.43,
        hint="how many questions are answered, how many guessed, and how often is a guess right?",
        mistakes={
            "the other three questions are guessed: is a guess never right?": 0.4,
            "that is what the guesses add; two questions are answered": 0.03,
            "guesses are right once in 20, not once in 4": 0.55,
            "how many letters are there in this task?": 0.45,
            "that is the share of questions that are only guessed": 0.6,
            "that counts questions; the task asks for a share of all answers": 2.15,
            "a share is a number between 0 and 1": 43,
        },
        tolerance=0.001,
    ),
    Number(
        "(b)",
        0.05,
        hint="each answer is a guess among 20 letters",
        mistakes={
            "without any head it still guesses": 0.0,
            "it guesses among the letters, not the questions": 0.2,
            "a share is a number between 0 and 1": 5,
        },
        tolerance=0.001,
    ),
    Number(
        "(c)",
        1,
        hint="the worst order takes a head, and then the one that could do its work",
        mistakes={
            "who chooses the order? After one twin, the other one may be next": 5,
            "the first head to go has a twin that does its work": 0,
            "the second head to go may be the twin of the first": 2,
        },
    ),
    Number(
        "(d)",
        5,
        hint="how many heads must stay, so that each question has one?",
        mistakes={
            "who answers then?": 10,
            "one head is left: which questions can it answer?": 9,
            "that is the worst order; here you choose": 1,
        },
    ),
    right="0.43 and 0.05; one removal in the worst order, five in the best",
)
