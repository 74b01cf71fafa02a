// Two layers read three words before the last one. The address of the page holds them.
(() => {
  "use strict";
  const { begin, dot, make, parts, play, rove, say, softmax } = PLAY;

  function laySentences({ words, glosses: english, lang, titles: layers_of, layers }) {
    const senses = say("senses").split(", "), titles = layers_of.map((title) => say("layer", title.replace(/\D/g, "")));
    const named = say("glosses");  // those of the book, a list in another language, or none for who reads Chinese
    const glosses = named === "english" ? english : words.map((_, word) => named.split(",")[word]?.trim() ?? "");
    const last = words.length - 1, numbers = layers.map((rows) => rows.map((row) => row.map((text) => Number(text.replace("−", "-")))));
    const read = (rows, laid) => {
      const heard = [...laid, last].map((word) => rows[word]), weights = softmax(heard.map(([score]) => score));
      return { weights, vote: dot(weights, heard.map(([, vote]) => vote)) };
    };
    const answer = (laid) => numbers.map((rows) => read(rows, laid));
    const differ = ([one, other]) => one.vote > 0 !== other.vote > 0;
    // What a vote is divided by does not change its side: for all sentences together a sum tells it.
    const push = numbers.map((rows) => rows.map(([score, vote]) => Math.exp(score) * vote));
    const side = (of, a, b, c) => of[a] + of[b] + of[c] + of[last] > 0;
    const apart = new Set(), count = words.length ** 3;
    words.forEach((_, a) => words.forEach((_, b) => words.forEach((_, c) => {
      if (side(push[0], a, b, c) !== side(push[1], a, b, c)) apart.add(`${a}.${b}.${c}`);
    })));
    const twice = apart.size;
    const name = (word) => [make("span", { lang, className: "word" }, words[word]), ...(glosses[word] ? [" ", make("small", {}, glosses[word])] : [])];
    const meaning = (word) => glosses[word] || words[word];
    const tellSense = (vote) => senses[vote > 0 ? 0 : 1];

    let laid = [1, 11, 3], place = 0;
    const slots = laid.map((_, i) => make("button", { type: "button", className: "slot", onclick: () => { place = i; tell(); } }));
    const tiles = words.map((_, word) => make("button", { type: "button", className: "tile", onclick: () => {
      laid[place] = word;
      place = (place + 1) % 3;
      address();
      tell();
    } }, ...name(word)));
    const rows = titles.map((title) => ({
      said: make("strong"), meter: make("span", { className: "meter" }), title,
      cells: [...laid, last].map(() => make("span", { className: "weight" })),
    }));
    const board = make("div", { className: "board" }, ...slots, make("span", { className: "slot" }, ...name(last)),
      ...rows.flatMap(({ title, said, meter, cells }) => [
        make("p", { className: "layer" }, make("span", {}, ...parts("layer_says", title), said), make("small", {}, senses[1]), meter, make("small", {}, senses[0])), ...cells]));
    const verdict = make("output", { className: "verdict" }), copied = make("span");
    copied.setAttribute("role", "status");
    const copy = make("button", { type: "button", className: "copy", onclick: async () => {
      address();
      try { await navigator.clipboard.writeText(location.href); copied.textContent = say("link_copied"); }
      catch { copied.textContent = say("link_shown"); }
    } }, say("link"));

    function address() {
      const hash = `#${laid.map((word) => words[word]).join(".")}`;
      try { history.replaceState(null, "", hash); } catch { location.replace(hash); }
    }
    function tell() {
      const told = answer(laid);
      if (differ(told)) KEPT.add("sentences-found", laid.join("."));
      const found = KEPT.list("sentences-found").filter((laid) => apart.has(laid)).length;
      slots.forEach((slot, i) => {
        slot.replaceChildren(...name(laid[i]));
        slot.setAttribute("aria-pressed", i === place);
        slot.setAttribute("aria-label", say("place", i + 1, words[laid[i]], glosses[laid[i]]));
      });
      tiles.forEach((tile, word) => tile.setAttribute("aria-pressed", word === laid[place]));
      rows.forEach(({ said, meter, cells }, i) => {
        const share = 1 / (1 + Math.exp(-told[i].vote));
        said.textContent = `${tellSense(told[i].vote)}, ${(100 * Math.max(share, 1 - share)).toFixed(0)}%`;
        meter.style.setProperty("--p", `${100 * share}%`);
        told[i].weights.forEach((weight, at) => {
          const to = make("span", { className: "said" }, say("weight", meaning([...laid, last][at])));
          cells[at].replaceChildren(to, `${(100 * weight).toFixed(0)}%`);
          cells[at].style.setProperty("--w", weight);
        });
      });
      const looks = told.map(({ weights }) => meaning([...laid, last][weights.indexOf(Math.max(...weights))]));
      const each = titles.map((title, i) => say("looks", title, looks[i], tellSense(told[i].vote))).join("; ");
      const many = found ? say("found", found, twice) : "";
      verdict.textContent = say(differ(told) ? "disagree" : "agree", each, many);
      copied.textContent = "";
    }
    function follow() {
      let asked = [];
      try { asked = decodeURIComponent(location.hash.slice(1)).split(".").map((word) => words.indexOf(word)); } catch { /* no sentence */ }
      const valid = asked.length === 3 && !asked.includes(-1);
      if (valid) laid = asked;
      tell();
      if (valid) setTimeout(() => board.scrollIntoView({ block: "nearest" }));  // once it is there
    }
    addEventListener("hashchange", follow);
    follow();
    rove(slots);
    rove(tiles);
    return play(say("fruit_or_firm", senses[0][0].toUpperCase() + senses[0].slice(1), senses[1]),
      make("p", {}, ...parts("build_sentences", twice, String(count).replace(/\B(?=(\d{3})+$)/g, ","))),
      board, verdict, make("div", { className: "tiles" }, ...tiles), copy, copied);
  }

  begin("sentences", laySentences);
})();
