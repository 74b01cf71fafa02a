// Predictions that wait. Without this script each answer is one press away, and nothing is lost. With it a reader may
// choose or write a number, is told how it came out, and may uncover every answer for good. A guess stays in this browser.
(() => {
  "use strict";
  const cards = [...document.querySelectorAll(".guess-card")];
  if (!cards.length) return;
  const phrases = JSON.parse(document.documentElement.dataset.phrases);  // from phrases.toml
  const page = location.pathname.split("/").pop().replace(/\.html$/, "");
  const make = (name, options = {}, ...children) => {
    const element = Object.assign(document.createElement(name), options);
    element.append(...children);
    return element;
  };
  const fill = (phrase, ...values) => values.reduce((text, value) => text.replace("{}", value), phrase);

  const toggle = document.querySelector(".cover-switch");
  const cover = (on) => {
    toggle.dataset.covered = on;
    toggle.textContent = on ? phrases.covered : phrases.open;
    cards.forEach((card) => { card.querySelector("details.guess").open = !on; });
  };
  toggle.addEventListener("click", () => {
    const on = toggle.dataset.covered !== "true";
    KEPT.write("cover-answers", on ? "" : "no");
    cover(on);
  });
  cover(KEPT.read("cover-answers") !== "no");
  if (matchMedia("(max-width: 36rem)").matches) document.querySelectorAll("details.guess-code").forEach((code) => { code.open = false; });

  // 35,333 and 1/4, 30% and −2: as a number, or nothing.
  function readNumber(text) {
    const [, above, below, percent] = /^([+-]?[\d.]+(?:e[+-]?\d+)?)(?:\/(\d+))?(%?)$/i.exec(text.replace(/[,\s]/g, "").replace("−", "-")) ?? [];
    return above === undefined ? NaN : Number(above) / Number(below ?? 1) / (percent ? 100 : 1);
  }
  // What is said of a guess, and whether it came true.
  function judge({ right, kind }, guess) {
    if (kind === "choice") return guess === right ? [fill(phrases.it_is, guess), true] : [fill(phrases.it_is_not, guess, right), false];
    const number = readNumber(guess), wanted = Number(right);
    if (!Number.isFinite(number)) return [phrases.no_number, false];
    const shown = wanted.toLocaleString("en", { maximumFractionDigits: 6 }).replace("-", "−");
    if (number === wanted) return [fill(phrases.it_is, shown), true];
    const near = Math.abs(number - wanted) <= 0.1 * Math.abs(wanted);
    return [fill(near ? phrases.it_is_about : phrases.it_is_not, guess.trim(), shown), near];
  }

  const guesses = cards.map((card) => {
    const answer = card.querySelector("details.guess"), question = card.querySelector("p.predict");
    const { name, right, kind } = card.dataset, key = `guess:${page}:${name}`, valid = (guess) => !texts || texts.includes(guess);
    const place = (guess) => (guess.startsWith("#") && texts ? texts[guess.slice(1)] ?? "" : guess);  // a choice, in any language
    const list = kind === "choice" ? card.querySelector(":scope > ul") : null;
    const texts = list && [...list.children].map((item) => item.textContent.trim());
    const said = make("p", { className: "guessed" });
    said.setAttribute("role", "status");
    const guess = { question, answer, right, kind, text: "" };
    guess.text = [place(KEPT.read(key))].filter(valid)[0] ?? "";
    const take = (text) => { guess.text = text; KEPT.write(key, texts ? `#${texts.indexOf(text)}` : text); tell(); };
    if (card.dataset.bet !== undefined) card.prepend(make("p", { className: "bet" }, make("strong", {}, phrases.bet)));
    const buttons = list ? [...list.children].map((item, i) => {
      item.querySelectorAll("a").forEach((link) => link.replaceWith(...link.childNodes));  // a button has no links
      const words = (item.querySelector(":scope > p") ?? item).childNodes;
      const button = make("button", { type: "button", className: "choice" }, ...words);
      button.addEventListener("click", () => { take(texts[i]); answer.open = true; });
      return button;
    }) : [];
    if (list) {
      const group = make("div", { className: "choices" }, ...buttons);
      group.setAttribute("role", "group");
      group.setAttribute("aria-labelledby", question.id);
      list.replaceWith(group);
    } else {
      const field = make("input", { type: "text", inputMode: "decimal", value: guess.text, autocomplete: "off" });
      field.setAttribute("aria-describedby", question.id);
      field.addEventListener("input", () => take(field.value));
      field.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" || event.isComposing) return;
        event.preventDefault();  // the summary, which gets the focus, would take it as well
        answer.open = true;
        answer.querySelector("summary").focus();
      });
      card.querySelector("p.predict + p")?.remove();  // "A number."
      answer.before(make("label", { className: "guess-field" }, `${phrases.guess} `, field, make("small", {}, ` ${phrases.opens}`)));
    }
    answer.querySelector("summary").after(said);
    return Object.assign(guess, { said, buttons });
  });

  const rows = make("tbody"), summary = make("summary");
  const table = make("table", {},
    make("thead", {}, make("tr", {}, ...phrases.columns.split(/[,，] ?/).map(
      (text) => make("th", { scope: "col" }, text)))), rows);
  const scroller = make("div", { className: "guess-table", tabIndex: 0, role: "region", ariaLabel: phrases.guesses }, table);
  const together = make("details", { className: "guesses" }, summary, scroller);
  (document.querySelector("#exercises, #summary") ?? document.querySelector(".bd-article > section")).before(together);

  // The question from its marker on, without the links in it: all of it is one.
  function ask(question) {
    const asked = question.cloneNode(true);
    const marker = asked.querySelector("strong.marker");
    while (marker.previousSibling) marker.previousSibling.remove();
    asked.querySelectorAll("a").forEach((link) => link.replaceWith(...link.childNodes));
    asked.querySelectorAll("[id]").forEach((part) => part.removeAttribute("id"));
    return asked.childNodes;
  }
  function tell() {
    const made = guesses.filter(({ text }) => text.trim()).map((guess) => ({ ...guess, told: judge(guess, guess.text) }));
    guesses.forEach(({ said, text, buttons, ...guess }) => {
      said.textContent = text.trim() ? judge(guess, text)[0] : "";
      buttons.forEach((button) => button.setAttribute("aria-pressed", button.textContent.trim() === text));
    });
    together.hidden = !made.length;
    summary.textContent = fill(phrases.together, made.filter(({ told }) => told[1]).length, made.length);
    rows.replaceChildren(...made.map(({ question, text, right, told }) => make("tr", { className: told[1] ? "true" : "false" },
      make("td", {}, make("a", { href: `#${question.id}` }, ...ask(question))), make("td", {}, text), make("td", {}, told[1] ? `✓ ${right}` : right))));
  }
  tell();

  // On paper the answers stand behind the chapter, each with the number of its question.
  const paper = make("section", { className: "answers" }, make("h2", {}, phrases.answers)), places = [];
  addEventListener("beforeprint", () => {
    guesses.forEach(({ question, answer }, i) => {
      const number = make("strong", { className: "answers" }, `${i + 1} · `), place = document.createComment("answer");
      question.prepend(number);
      answer.replaceWith(place);
      paper.append(make("p", {}, make("strong", {}, `${i + 1}`)), answer);
      places.push([number, place, answer]);
    });
    document.querySelector(".bd-article > section").append(paper);
  });
  addEventListener("afterprint", () => {
    places.splice(0).forEach(([number, place, answer]) => { number.remove(); place.replaceWith(answer); });
    paper.replaceChildren(paper.firstChild);
    paper.remove();
  });
})();
