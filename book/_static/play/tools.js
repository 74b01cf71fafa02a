// What a reader may put in: words before 苹果, scores and a temperature, the places of a query and a key. Each stands
// where a page has `data-play`, and takes its numbers from there. Without a script the page shows what stands there.
const PLAY = (() => {
  "use strict";
  const make = (name, options = {}, ...children) => {
    const { lang, ...others } = options;
    const element = Object.assign(document.createElement(name), others);
    if (lang) element.lang = lang;
    element.append(...children);
    return element;
  };
  const play = (title, ...children) => {
    const name = `play-${document.querySelectorAll(".play").length}`;
    const box = make("div", { className: "play" }, make("p", { id: name, className: "play-title" }, title), ...children);
    box.setAttribute("role", "group");
    box.setAttribute("aria-labelledby", name);
    return box;
  };
  const phrases = JSON.parse(document.documentElement.dataset.phrases);  // from phrases.toml
  // A phrase, with what stands in place of each {}: in parts, or as a text.
  const parts = (name, ...values) => phrases[name].split(/\{(\d?)\}/).map((text, i) => (i % 2 ? values[text === "" ? (i - 1) / 2 : text] : text));
  const say = (...phrase) => parts(...phrase).join("");
  const write = (number, digits) => number.toFixed(digits).replace("-", "−").replace(/^−(0\.?0*)$/, "$1");
  const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
  const softmax = (scores) => {
    const largest = Math.max(...scores), powers = scores.map((score) => Math.exp(score - largest));
    return powers.map((power) => power / sum(powers));
  };
  const dot = (a, b) => sum(a.map((x, i) => x * b[i]));
  // Buttons of which one is a stop; the arrow keys lead from each to the next.
  function rove(buttons) {
    const stop = (chosen) => buttons.forEach((button) => { button.tabIndex = button === chosen ? 0 : -1; });
    buttons.forEach((button, i) => {
      button.addEventListener("focus", () => stop(button));
      button.addEventListener("keydown", (event) => {
        const to = { ArrowRight: i + 1, ArrowDown: i + 1, ArrowLeft: i - 1, ArrowUp: i - 1, Home: 0, End: -1 }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        buttons.at(to % buttons.length).focus();
      });
    });
    stop(buttons[0]);
  }
  // A slider with its name and its value.
  function slide(name, low, high, step, value, changed) {
    const input = make("input", { type: "range", min: low, max: high, step, value });
    const shown = make("output", {}, String(value));
    input.addEventListener("input", () => changed(Number(input.value)));
    return { input, shown, row: make("label", { className: "slide" }, make("span", {}, name, "\u00a0", shown), input) };
  }
  // Put what `build` makes of the numbers where they stand.
  function begin(kind, build) {
    for (const place of document.querySelectorAll(`[data-play="${kind}"]`)) {
      const shown = build(JSON.parse(place.dataset.given));
      if (place.matches(".touch")) { place.after(shown); place.hidden = true; }  // one panel an idea
      else place.append(shown);
    }
  }
  return { begin, dot, make, parts, play, rove, say, slide, softmax, sum, write };
})();
