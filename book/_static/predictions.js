// Predictions that wait. Without this script each answer is one press away, and nothing is lost. With it a reader may
// write guesses down (they stay in this browser), see them beside what came out, or uncover every answer for good.
(() => {
  "use strict";
  const covers = [...document.querySelectorAll("details.guess")];
  if (!covers.length) return;
  const phrases = JSON.parse(document.documentElement.dataset.phrases);  // from phrases.toml
  const page = location.pathname.split("/").pop();
  const make = (name, options = {}, ...children) => {
    const element = Object.assign(document.createElement(name), options);
    element.append(...children);
    return element;
  };

  const toggle = document.querySelector(".cover-switch");
  const cover = (on) => {
    toggle.dataset.covered = on;
    toggle.textContent = on ? phrases.covered : phrases.open;
    covers.forEach((answer) => { answer.open = !on; });
  };
  toggle.addEventListener("click", () => {
    const on = toggle.dataset.covered !== "true";
    KEPT.write("cover-answers", on ? "" : "no");
    cover(on);
  });
  cover(KEPT.read("cover-answers") !== "no");

  const askedOnce = (answer) => document.getElementById(answer.dataset.question).classList.contains("one");
  const fields = covers.filter(askedOnce).map((answer) => {
    const question = document.getElementById(answer.dataset.question);
    const name = `guess:${page}:${answer.dataset.question}`;
    const field = make("input", { type: "text", value: KEPT.read(name), autocomplete: "off" });
    field.setAttribute("aria-describedby", question.id);
    field.addEventListener("input", () => { KEPT.write(name, field.value); tell(); });
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();  // the summary, which gets the focus, would take it as well
      answer.open = true;
      answer.querySelector("summary").focus();
    });
    answer.before(make("label", { className: "guess-field" }, `${phrases.guess} `, field, make("small", {}, ` ${phrases.opens}`)));
    const guessed = make("p", { className: "guessed" });
    answer.querySelector("summary").after(guessed);
    return { answer, question, field, guessed };
  });

  const rows = make("tbody");
  const table = make("table", {},
    make("thead", {}, make("tr", {}, ...phrases.columns.split(/[,，] ?/).map(
      (text) => make("th", { scope: "col" }, text)))), rows);
  const scroller = make("div", { className: "guess-table", tabIndex: 0, role: "region", ariaLabel: phrases.guesses }, table);
  const together = make("details", { className: "guesses" },
    make("summary", {}, phrases.together), scroller);
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
  function copy(output) {
    const shown = output.cloneNode(true);
    shown.querySelectorAll("[id]").forEach((part) => part.removeAttribute("id"));
    shown.querySelectorAll("button").forEach((button) => button.remove());
    return shown;
  }
  function tell() {
    const guessed = fields.filter(({ field }) => field.value.trim());
    together.hidden = !guessed.length;
    fields.forEach(({ field, guessed: beside }) => { beside.textContent = field.value.trim() && `${phrases.guessed} ${field.value}`; });
    rows.replaceChildren(...guessed.map(({ answer, question, field }) => make("tr", {},
      make("td", {}, make("a", { href: `#${question.id}` }, ...ask(question))),
      make("td", {}, field.value),
      make("td", {}, copy(answer.querySelector(".cell_output"))))));
  }
  tell();
})();
