// The hands of a query and of a key on each clock; their scores add up.
(() => {
  "use strict";
  const { begin, make, play, say, slide, sum, write } = PLAY;

  function turnClocks({ turns, positions }) {
    const places = { query: 5, key: 2 }, svg = "http://www.w3.org/2000/svg";
    const draw = (name, settings, ...children) => {
      const element = document.createElementNS(svg, name);
      for (const [key, value] of Object.entries(settings)) element.setAttribute(key, value);
      element.append(...children);
      return element;
    };
    const said = make("output");
    const clocks = turns.map((turn, j) => {
      const hands = ["query", "key"].map((who) => draw("path", { class: who, d: who === "query" ? "M50 50V22" : "M50 50V12" }));
      const face = draw("svg", { viewBox: "0 0 100 100", "aria-hidden": "true" }, draw("circle", { cx: 50, cy: 50, r: 45 }), ...hands);
      let held = null;
      const point = (event) => {  // the angle of the pointer, clockwise from the top
        const { left, top, width } = face.getBoundingClientRect();
        return Math.atan2(event.clientX - left - width / 2, top + width / 2 - event.clientY);
      };
      const apart = (a, b) => Math.abs(Math.atan2(Math.sin(a - b), Math.cos(a - b)));
      const score = make("span"), figure = make("div", { className: "clock" }, face, make("span", {}, say("clock", j), score));
      if (turn * positions < Math.PI) return { turn, hands, score, figure };  // too slow for a hand that drags it
      face.classList.add("drags");
      face.addEventListener("pointerdown", (event) => {
        const near = (who) => apart(point(event), places[who] * turn);
        held = near("key") < near("query") ? "key" : "query";
        face.setPointerCapture(event.pointerId);
      });
      face.addEventListener("pointermove", (event) => {
        if (!held) return;
        const reach = (place) => apart(point(event), place * turn) + 0.01 * Math.abs(place - places[held]);
        const all = Array.from({ length: positions }, (_, place) => place);
        places[held] = all.reduce((a, b) => (reach(b) < reach(a) ? b : a));
        tell();
      });
      for (const end of ["pointerup", "pointercancel"]) face.addEventListener(end, () => { held = null; });
      return { turn, hands, score, figure };
    });
    const move = (who) => (value) => { places[who] = value; tell(); };
    const sliders = {
      query: slide(say("query_at"), 0, positions - 1, 1, places.query, move("query")),
      key: slide(say("key_at"), 0, positions - 1, 1, places.key, move("key")),
      both: slide(say("both_at"), 0, positions - 1, 1, 0, (value) => {
        const first = Math.min(places.query, places.key);
        places.query += value - first;
        places.key += value - first;
        tell();
      }),
    };
    function tell() {
      const { query, key } = places, scores = turns.map((turn) => Math.cos((query - key) * turn));
      clocks.forEach(({ turn, hands, score }, j) => {
        [query, key].forEach((place, i) => { hands[i].style.transform = `rotate(${place * turn}rad)`; });
        score.textContent = write(scores[j], 3);
      });
      sliders.both.input.max = positions - 1 - Math.abs(query - key);
      for (const [who, value] of [["query", query], ["key", key], ["both", Math.min(query, key)]])
        sliders[who].input.value = sliders[who].shown.textContent = value;
      said.textContent = say("offset", write(key - query, 0), write(sum(scores), 3));
    }
    tell();
    return play(say("turn_clocks"), make("p", {}, say("turn_how")),
      make("div", { className: "clocks" }, ...clocks.map(({ figure }) => figure)), ...Object.values(sliders).map(({ row }) => row), said);
  }

  begin("clock", turnClocks);
})();
