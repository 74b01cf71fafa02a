"""The rows of the page, and the two sides of each: code as the page gives it, and the names that it may use."""

from __future__ import annotations

import ast
import re
from typing import Any

import torch
from torch import nn

import d2lmini as d2l
from d2lmini.loading import load_parameters
from tests import d2l_reference
from tests.chapters.coming_from import elsewhere
from tools.notebooks import TEXTS

PAGE = (TEXTS / "coming-from.md").read_text("utf-8")
Names = dict[str, Any]


class Cell:
    """The code of a cell, and the names that it may use."""

    def __init__(self, text: str, names: Names) -> None:
        self.code, self.names, self.was_run = "\n".join(re.findall("`([^`]+)`", text)), names, False

    def run(self) -> Any:
        """Run the code; what its last line gives, or assigns to its first name."""
        self.was_run = True
        *before, last = ast.parse(self.code).body
        if isinstance(last, ast.Assign):
            before, last = [*before, last], ast.parse(re.split("[,=]", ast.unparse(last))[0]).body[0]
        exec(compile(ast.Module(before, []), "<cell>", "exec"), self.names)
        return eval(compile(ast.Expression(last.value), "<cell>", "eval"), self.names)  # type: ignore[attr-defined]


def split_sections(page: str) -> dict[str, str]:
    """The sections of a page by their headings, first what stands before them."""
    return {text.partition("\n")[0]: text for text in page.split("\n## ")}


def split_rows(section: str) -> list[list[str]]:
    """The rows of all tables of a section; the first two lines of a table are its head."""
    tables = re.findall(r"(?:^\|.*\n?)+", section, re.MULTILINE)
    return [line.strip("| ").split(" | ") for table in tables for line in table.splitlines()[2:]]


def name_row(row: list[str]) -> str:
    """What stands on the left, as the comparisons below name a row."""
    return " ".join(re.findall("`([^`]+)`", row[0]))


def prepare(heading: str) -> Names:
    """The names that the page has given up to its section."""
    torch.manual_seed(0)
    sections, names = split_sections(PAGE), dict[str, Any]()
    for text in (next(iter(sections.values())), sections["Parameters"], sections[heading]):
        for block in re.findall("```{code-block} python\n(.*?)```", text, re.DOTALL):
            exec(compile(block, "<page>", "exec"), names)
    return names


def shake(module: nn.Module) -> None:
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.3)


def meet_d2l() -> tuple[Names, Names]:
    """Layers of the same name and with the same parameters on both sides."""
    page = prepare("From D2L")
    sizes = (page["vocab_size"], page["d"], page["ffn"], page["h"], 2, page["dropout"])
    theirs = {
        "attention": d2l_reference.MultiHeadAttention(page["d"], page["h"], page["dropout"]),
        "encoder": d2l_reference.TransformerEncoder(*sizes),
        "decoder": d2l_reference.TransformerDecoder(*sizes),
    }
    ours = {
        "attention": d2l.MultiHeadAttention(*[page["d"]] * 4, page["h"], page["dropout"]),
        "encoder": d2l.TransformerEncoder(*sizes),
        "decoder": d2l.TransformerDecoder(*sizes),
    }
    theirs["attention"](page["X"], page["X"], page["X"], page["lens"])
    theirs["encoder"](page["tokens"], page["lens"])
    theirs["decoder"](page["tokens"], theirs["decoder"].init_state(page["memory"], page["lens"]))
    for name, module in theirs.items():
        shake(module)
        load_parameters(ours[name], module.state_dict())
    scores = {"scores": page["scores"].clone()}  # D2L overwrites its own
    return page | vars(d2l_reference) | theirs | scores, page | ours


def meet_torchtune() -> tuple[Names, Names]:
    page = prepare("From torchtune")
    ours = page["ours"]
    sizes = {"embed_dim": page["d"], "num_heads": page["h"], "num_kv_heads": page["h"], "head_dim": 4}
    parts = {"q_proj": ours.W_q, "k_proj": ours.W_k, "v_proj": ours.W_v, "output_proj": ours.W_o}
    return page | vars(elsewhere) | {"attention": elsewhere.MultiHeadAttention(**sizes, **parts)}, page


def meet_hugging_face() -> tuple[Names, Names]:
    page = prepare("From Hugging Face")
    cos, sin = elsewhere.rotary_tables(page["Q"].shape[2], page["Q"].shape[3])
    page["attn"] = elsewhere.GPT2Attention(page["d"], page["h"])
    page["attention"] = elsewhere.EagerAttention(page["ours"])
    model = elsewhere.CausalModel(page["vocab_size"], page["d"], page["h"], page["ffn"], 2)
    shake(model)
    for blk, layer in zip(page["gpt"].blks, model.layers, strict=True):
        load_parameters(blk, layer.state_dict())
    for name in ("embedding", "dense"):
        getattr(page["gpt"], name).load_state_dict(getattr(model, name).state_dict())
    return page | vars(elsewhere) | {"cos": cos, "sin": sin, "model": model}, page


MEETINGS = {"From D2L": meet_d2l, "From torchtune": meet_torchtune, "From Hugging Face": meet_hugging_face}


def meet(heading: str) -> tuple[Names, Names]:
    """What the left and the right of a section's rows may use."""
    if heading in MEETINGS:
        return MEETINGS[heading]()
    page = prepare(heading)
    return dict(page), page
