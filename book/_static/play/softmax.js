// A softmax of one's own scores.
(() => {
  "use strict";
  const { begin, dot, make, play, say, slide, softmax, write } = PLAY;

  function weighScores({ scores }) {
    let best = { share: 0, beta: 0 };
    const fields = scores.map((score, i) => make("input", { type: "number", step: "any", value: score, ariaLabel: say("score", i + 1) }));
    const bars = scores.map(() => make("span", { className: "bar" }));
    const said = make("output"), record = make("p", { className: "aim" });
    const slider = slide(say("temperature"), 0, 10, 0.05, 1, tell);
    fields.forEach((field) => field.addEventListener("input", () => { best = { share: 0, beta: 0 }; tell(); }));
    function tell() {
      const given = fields.map((field) => field.valueAsNumber), beta = Number(slider.input.value);
      slider.shown.textContent = write(beta, 2);
      if (!given.every((score) => Math.abs(score) <= 1000)) { said.textContent = say("score_range"); return; }
      const weights = softmax(given.map((score) => beta * score));
      bars.forEach((bar, i) => { bar.style.setProperty("--w", weights[i]); bar.textContent = write(weights[i], 3); });
      said.textContent = say("heard", write(1 / dot(weights, weights), 1), write(dot(weights, given), 2));
      if (weights[1] > best.share) best = { share: weights[1], beta };
      record.textContent = say("record", write(best.share, 3), write(best.beta, 2));
    }
    tell();
    return play(say("own_scores"), make("div", { className: "keys" }, ...bars, ...fields), slider.row, said, record);
  }

  begin("softmax", weighScores);
})();
