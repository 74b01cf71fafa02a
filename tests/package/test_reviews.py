"""The reader of reviews: what it reads, what it refuses, and that nothing half done is left behind."""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import socket
import tarfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import d2lmini as d2l
from d2lmini import archive
from d2lmini.archive import extract_reviews
from d2lmini.reviews import IMDB_SHA256, Reviews

FILES = {
    f"aclImdb/{split}/{label}/{i}_7.txt": f"{label} {i}"
    for split in ("train", "test")
    for label in ("neg", "pos")
    for i in (0, 1)
}


def make_archive(file: Path, members: dict[str, str | bytes] | None = None, **changes: Any) -> str:
    """An archive, and its checksum; ``changes`` are set on each member."""
    with tarfile.open(file, "w:gz") as tar:
        for name, text in (FILES if members is None else members).items():
            data = text.encode() if isinstance(text, str) else text
            member = tarfile.TarInfo(name)
            member.size = len(data)
            for attribute, value in changes.items():
                setattr(member, attribute, value)
            tar.addfile(member, io.BytesIO(data))
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_reviews_come_sorted_with_their_labels(tmp_path: Path) -> None:
    make_archive(tmp_path / "a.tar.gz")
    folder = extract_reviews(tmp_path / "a.tar.gz", tmp_path)
    assert folder == tmp_path / "aclImdb"
    expected = Reviews(["neg 0", "neg 1", "pos 0", "pos 1"], [0, 0, 1, 1], [])
    assert d2l.load_reviews(folder) == d2l.load_reviews(str(folder), "test") == expected


def test_files_that_are_no_text_are_counted_and_left_out(tmp_path: Path) -> None:
    make_archive(tmp_path / "a.tar.gz", FILES | {"aclImdb/train/pos/0_9.txt": b"caf\xe9"})
    folder = extract_reviews(tmp_path / "a.tar.gz", tmp_path)
    with pytest.warns(UserWarning, match=r"1 of 5 files cannot be read, or are no UTF-8 text; the first is .*0_9\.txt"):
        reviews = d2l.load_reviews(folder)
    assert len(reviews.texts) == len(reviews.labels) == 4
    assert reviews.unreadable == [folder / "train" / "pos" / "0_9.txt"]


def test_folders_without_reviews_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="folder must hold train/neg with one review a file, there is no"):
        d2l.load_reviews(tmp_path)
    for label, data in (("neg", b"fine"), ("pos", b"\xff")):
        (tmp_path / "train" / label).mkdir(parents=True)
        (tmp_path / "train" / label / "0.txt").write_bytes(data)
    with pytest.raises(ValueError, match=r"no \*.txt that can be read in .*pos"):
        d2l.load_reviews(tmp_path)


def truncated(file: Path) -> None:
    make_archive(file)
    file.write_bytes(file.read_bytes()[:-60])


def between_two_members(file: Path) -> None:
    """Complete as a stream, but the archive in it ends after all of its files, without the mark of its end."""
    make_archive(file)
    whole = gzip.decompress(file.read_bytes())
    file.write_bytes(gzip.compress(whole[: 1024 * len(FILES)]))


def with_one_bit_changed(file: Path) -> None:
    """A letter of a review is another one; only the checksum of the stream can tell."""
    make_archive(file)
    packed = bytearray(file.read_bytes())
    packed[-8] ^= 1
    file.write_bytes(packed)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (truncated, "is cut off, damaged or no archive"),
        (between_two_members, "damaged or no archive: its end is missing"),
        (with_one_bit_changed, "is cut off, damaged or no archive"),
        (lambda file: file.write_text("a page that says: not found"), "is cut off, damaged or no archive"),
        (lambda file: file.write_bytes(b""), "is cut off, damaged or no archive"),
        (lambda file: make_archive(file, {}), r"must hold aclImdb/train/pos/\*.txt and .*, it holds no such files"),
        (lambda file: make_archive(file, {"other/train/pos/0.txt": ""}), "it holds no such files"),
        (lambda file: make_archive(file, {"aclImdb/train/pos/0.txt": ""}), "it holds no such files"),
        (lambda file: make_archive(file, mtime=1e30), "is cut off, damaged or no archive"),
        (lambda file: make_archive(file, FILES | {"aclImdb/zeros": bytes(5000)}), "must hold at most 4000 bytes in 9"),
        (lambda file: make_archive(file, {f"aclImdb/{i}": "" for i in range(10)}), "bytes in 9 files, it holds more"),
        (lambda file: make_archive(file, FILES | {"../evil.txt": ""}), "must not point outside.*evil.txt"),
        (lambda file: make_archive(file, FILES | {"aclImdb/../../evil.txt": ""}), "must not point outside.*evil.txt"),
        (
            lambda file: make_archive(file, {"aclImdb/x": ""}, type=tarfile.SYMTYPE, linkname="../../evil.txt"),
            "files and folders only, 'aclImdb/x' is something else",
        ),
        (
            lambda file: make_archive(file, {"aclImdb/x": ""}, type=tarfile.LNKTYPE, linkname="/etc/hostname"),
            "files and folders only",
        ),
        (lambda file: make_archive(file, {"aclImdb/x": ""}, type=tarfile.FIFOTYPE), "files and folders only"),
    ],
)
def test_bad_archives_are_refused_and_leave_nothing_behind(
    make: Callable[[Path], Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("d2lmini.archive._MOST_UNPACKED", 4000)
    monkeypatch.setattr("d2lmini.archive._MOST_MEMBERS", 9)
    archive, folder = tmp_path / "a.tar.gz", tmp_path / "inside"
    folder.mkdir()
    make(archive)
    with pytest.raises(ValueError, match=message):
        extract_reviews(archive, folder)
    assert list(folder.iterdir()) == [] and {file.name for file in tmp_path.iterdir()} <= {"a.tar.gz", "inside"}


def test_a_folder_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    make_archive(tmp_path / "a.tar.gz")
    extract_reviews(tmp_path / "a.tar.gz", tmp_path)
    with pytest.raises(ValueError, match="must not hold aclImdb yet"):
        extract_reviews(tmp_path / "a.tar.gz", tmp_path)


def test_the_archive_is_downloaded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checksum = make_archive(tmp_path / "published.tar.gz")
    address = (tmp_path / "published.tar.gz").as_uri()
    folder = d2l.fetch_imdb(tmp_path / "new" / "data", url=address, sha256=checksum)
    assert len(d2l.load_reviews(folder).texts) == 4
    monkeypatch.setattr(urllib.request, "urlopen", None)  # no transfer from here on
    assert d2l.fetch_imdb(tmp_path / "new" / "data", url=address, sha256=checksum) == folder
    (tmp_path / "by-hand").mkdir()
    (tmp_path / "published.tar.gz").rename(tmp_path / "by-hand" / "aclImdb_v1.tar.gz")
    assert d2l.fetch_imdb(tmp_path / "by-hand", url="https://not.asked", sha256=checksum).is_dir()


def test_a_wrong_checksum_is_refused(tmp_path: Path) -> None:
    found = make_archive(tmp_path / "published.tar.gz")
    data = tmp_path / "data"
    with pytest.raises(ValueError, match=f"must have the checksum {IMDB_SHA256}, got {found} from file:"):
        d2l.fetch_imdb(data, url=(tmp_path / "published.tar.gz").as_uri())
    assert list(data.iterdir()) == []


def test_after_a_broken_transfer_it_begins_again(tmp_path: Path) -> None:
    checksum = make_archive(tmp_path / "published.tar.gz")
    address, data = (tmp_path / "published.tar.gz").as_uri(), tmp_path / "data"
    data.mkdir()
    (data / "aclImdb_v1.tar.gz").write_bytes(b"the beginning only")  # of a transfer by hand
    assert len(d2l.load_reviews(d2l.fetch_imdb(data, url=address, sha256=checksum), "test").labels) == 4


@contextmanager
def serve(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """The address of a server that answers each request in this way."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def run() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with connection, suppress(OSError):
                        connection.recv(4096)
                        answer(connection)

        threading.Thread(target=run, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/a.tar.gz"


HEAD = b"HTTP/1.0 200 OK\r\nContent-Length: 1000\r\n\r\n"


def drip(connection: socket.socket) -> None:
    """A byte now and then, until the other side has had enough."""
    connection.sendall(HEAD)
    while True:
        connection.sendall(b"x")
        time.sleep(0.05)


def fall_silent(connection: socket.socket) -> None:
    """Say nothing until the other side has gone."""
    while connection.recv(4096):
        pass


def flood(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n")
    for _ in range(2000):
        connection.sendall(b"x" * 2**20)


SILENT: dict[str, Callable[[socket.socket], None]] = {
    "from the beginning": fall_silent,
    "half-way": lambda connection: (connection.sendall(HEAD), fall_silent(connection))[1],
}
FAULTY: dict[str, Callable[[socket.socket], None]] = {
    "longer than 84125825 bytes": flood,
    "ended after 5 of 1000 bytes": lambda connection: connection.sendall(HEAD + b"short"),
    "BadStatusLine": lambda connection: connection.sendall(b"hello\r\n\r\n"),
    "RemoteDisconnected": lambda connection: None,
    "LineTooLong": lambda connection: connection.sendall(b"HTTP/1.0 200 OK\r\nA: " + b"x" * 70000 + b"\r\n\r\n"),
    "HTTP Error 404": lambda connection: connection.sendall(b"HTTP/1.0 404 No\r\n\r\n"),
}


@pytest.mark.parametrize("server", SILENT)
def test_a_server_that_falls_silent(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("d2lmini.archive._SILENCE", 0.3)
    with serve(SILENT[server]) as address, pytest.raises(OSError, match=r"timed out.*put the file there yourself"):
        d2l.fetch_imdb(tmp_path, url=address)
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_is_too_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("d2lmini.archive._GRACE", 0.2)
    monkeypatch.setattr("d2lmini.archive._SLOWEST", 1e6)
    with serve(drip) as address, pytest.raises(OSError, match=r"are too slow.*put the file there yourself"):
        d2l.fetch_imdb(tmp_path, url=address)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("message", FAULTY)
def test_a_server_that_does_not_do_its_work(message: str, tmp_path: Path) -> None:
    with serve(FAULTY[message]) as address, pytest.raises(OSError, match=f"{message}.*put the file there yourself"):
        d2l.fetch_imdb(tmp_path, url=address)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["no scheme", "file:///nowhere", "http://127.0.0.1:9/x"])
def test_an_address_that_leads_nowhere(url: str, tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"could not be fetched: .*call again"):
        d2l.fetch_imdb(tmp_path, url=url)
    assert list(tmp_path.iterdir()) == []


def test_who_comes_second_takes_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_archive(tmp_path / "a.tar.gz")
    unpack = archive._unpack

    def slowly(file: Path, folder: str) -> None:
        unpack(file, folder)
        monkeypatch.setattr(archive, "_unpack", unpack)
        extract_reviews(tmp_path / "a.tar.gz", tmp_path)  # another process is quicker

    monkeypatch.setattr(archive, "_unpack", slowly)
    folder = extract_reviews(tmp_path / "a.tar.gz", tmp_path)
    assert len(d2l.load_reviews(folder).texts) == 4 and not (folder / "aclImdb").exists()


def test_a_folder_that_cannot_be_moved_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError("not here")

    make_archive(tmp_path / "a.tar.gz")
    monkeypatch.setattr("os.rename", refuse)
    with pytest.raises(PermissionError):
        extract_reviews(tmp_path / "a.tar.gz", tmp_path)


def test_an_empty_folder_is_not_the_reviews(tmp_path: Path) -> None:
    checksum = make_archive(tmp_path / "published.tar.gz")
    (tmp_path / "data" / "aclImdb").mkdir(parents=True)
    folder = d2l.fetch_imdb(tmp_path / "data", url=(tmp_path / "published.tar.gz").as_uri(), sha256=checksum)
    assert len(d2l.load_reviews(folder).texts) == 4
    with pytest.raises(FileNotFoundError):
        extract_reviews(tmp_path / "nothing.tar.gz", tmp_path)


def test_folders_and_dead_links_that_are_named_as_reviews_are_left_out(tmp_path: Path) -> None:
    make_archive(tmp_path / "a.tar.gz")
    folder = extract_reviews(tmp_path / "a.tar.gz", tmp_path)
    (folder / "train" / "pos" / "a.txt").mkdir()
    (folder / "train" / "neg" / "b.txt").symlink_to("nowhere")
    with pytest.warns(UserWarning, match="2 of 6 files cannot be read, or are no UTF-8 text"):
        assert len(d2l.load_reviews(folder).texts) == 4


def words_of(text: str) -> list[str]:
    return re.findall(r"[a-z0-9']+|[.,!?;:]", text.lower())


def pairs_of(reviews: Reviews) -> list[list[int]]:
    same: dict[tuple[str, ...], list[int]] = {}
    for i, text in enumerate(reviews.texts):
        same.setdefault(tuple(sorted(words_of(text))), []).append(i)
    return [group for group in same.values() if len(group) > 1]


@pytest.mark.parametrize(("split", "free", "pairs"), [("train", 420, 74), ("test", 120, 50)])
def test_the_small_reviews_are_what_the_docs_say(split: str, free: int, pairs: int) -> None:
    reviews = d2l.load_reviews(d2l.small_reviews(), split)
    found = pairs_of(reviews)
    assert len(found) == pairs and len(reviews.texts) == free + 2 * pairs
    assert all(sorted(reviews.labels[i] for i in pair) == [0, 1] for pair in found)
    assert 2 * sum(reviews.labels) == len(reviews.labels)
    assert not reviews.unreadable


def test_the_small_reviews_are_all_different_and_none_is_in_both_splits() -> None:
    texts = [text for split in ("train", "test") for text in d2l.load_reviews(d2l.small_reviews(), split).texts]
    assert len({" ".join(words_of(text)) for text in texts}) == len(texts) == 788


def test_the_words_of_the_test_pairs_are_known_from_training() -> None:
    train, test = (d2l.load_reviews(d2l.small_reviews(), split) for split in ("train", "test"))
    known = {word for text in train.texts for word in words_of(text)}
    assert {word for pair in pairs_of(test) for word in words_of(test.texts[pair[0]])} <= known


def test_the_last_opinion_word_is_right_as_often_as_wrong() -> None:
    lines = (d2l.small_reviews() / "opinion_words.txt").read_text().splitlines()
    sign_of = {word: sign for sign, word in (line.split() for line in lines)}
    assert len(sign_of) == len(lines) and set(sign_of.values()) == {"+", "-"}
    for split in ("train", "test"):
        reviews = d2l.load_reviews(d2l.small_reviews(), split)
        last = [
            [[sign_of[word] for word in words_of(reviews.texts[i]) if word in sign_of][-1] for i in pair]
            for pair in pairs_of(reviews)
        ]
        assert all(sorted(signs) == ["+", "-"] for signs in last)  # both are right, or both are wrong
        labels = [[reviews.labels[i] for i in pair] for pair in pairs_of(reviews)]
        right = [(signs[0] == "+") == (label[0] == 1) for signs, label in zip(last, labels, strict=True)]
        assert 2 * sum(right) == len(right)


def ordinary_reviews() -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for split in ("train", "test"):
        reviews = d2l.load_reviews(d2l.small_reviews(), split)
        paired = {i for pair in pairs_of(reviews) for i in pair}
        found += [(reviews.texts[i], reviews.labels[i]) for i in range(len(reviews.texts)) if i not in paired]
    return found


VARIED = {  # what a corpus of one voice lacks, and the smallest and largest share of texts that have it
    "fewer than 10 words": (lambda text: len(words_of(text)) < 10, 0.08, 0.25),
    "more than 50 words": (lambda text: len(words_of(text)) > 50, 0.2, 0.4),
    "one sentence or less": (lambda text: len(re.findall(r"[.!?]+", text)) < 2, 0.1, 0.4),
    "more than four sentences": (lambda text: len(re.findall(r"[.!?]+", text)) > 4, 0.15, 0.5),
    "a contraction": (lambda text: re.search(r"\w'\w", text), 0.4, 0.75),
    "a digit": (lambda text: re.search(r"\d", text), 0.12, 0.4),
    "a quotation or a bracket": (lambda text: re.search(r"[\"(]", text), 0.12, 0.4),
    "a name": (lambda text: re.search(r"[a-z,] [A-Z][a-z]+", text), 0.35, 0.75),
    "a question or an exclamation": (lambda text: re.search(r"[?!]", text), 0.12, 0.5),
}


@pytest.mark.parametrize("trait", VARIED)
def test_the_ordinary_reviews_are_varied(trait: str) -> None:
    has, least, most = VARIED[trait]
    for label in (0, 1):
        texts = [text for text, of in ordinary_reviews() if of == label]
        assert least <= sum(bool(has(text)) for text in texts) / len(texts) <= most


def test_the_ordinary_reviews_do_not_repeat_themselves() -> None:
    texts = [words_of(text) for text, _ in ordinary_reviews()]
    first = Counter(words[0] for words in texts)
    phrases = Counter(phrase for words in texts for phrase in {tuple(words[i : i + 4]) for i in range(len(words) - 3)})
    everything = Counter(word for words in texts for word in words)
    assert max(first.values()) < 0.05 * len(texts)
    assert max(phrases.values()) < 0.01 * len(texts)
    assert sum(count == 1 for count in everything.values()) > len(everything) / 2


def test_the_small_reviews_are_named_as_the_large_ones() -> None:
    for file in d2l.small_reviews().glob("*/*/*.txt"):
        rating = re.fullmatch(r"\d+_(\d+)", file.stem)
        assert rating and (int(rating[1]) > 6) == (file.parent.name == "pos")
