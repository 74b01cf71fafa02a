// What is wider than its place fades on the side where more is hidden, and the keyboard can reach and scroll it.
(() => {
  "use strict";
  const article = document.querySelector(".bd-article");
  if (!article) return;
  const phrases = JSON.parse(document.documentElement.dataset.phrases);  // from phrases.toml
  const NAMES = [[".scrolls", phrases.figure_scrolls], [".highlight pre", phrases.code_scrolls], ["div.math", phrases.formula_scrolls], [".pst-scrollable-table-container, .output.text_html", phrases.table_scrolls]];
  // What is out of sight has no layout yet (layout.css), and would get one if it were asked.
  const near = (part) => part.checkVisibility({ contentVisibilityAuto: true });
  const hide = (box, hidden) => {
    const at = box.scrollLeft, sides = [at > 1 && "left", at < hidden - 1 && "right"].filter(Boolean).join(" ");
    if (sides) box.dataset.more = sides;
    else delete box.dataset.more;
  };
  // All are measured, then all are changed: the page is laid out once.
  const look = (boxes, names) => {
    const seen = boxes.filter((box) => near(box) && box.clientWidth).map((box) => [box, box.scrollWidth - box.clientWidth]);
    for (const [box, hidden] of seen) {
      hide(box, hidden);
      if (hidden > 0) {
        box.tabIndex = 0;
        box.setAttribute("role", "group");
        box.setAttribute("aria-label", phrases.wider.replace("{}", names(box)));
      } else if (box.getAttribute("role") === "group") {
        for (const attribute of ["tabindex", "role", "aria-label"]) box.removeAttribute(attribute);
      }
    }
  };
  const names = new Map(), name = (box) => names.get(box);
  const watch = new ResizeObserver((changed) =>
    look([...new Set(changed.map(({ target }) => (names.has(target) ? target : target.parentElement)))], name));
  for (const [selector, called] of NAMES)
    for (const box of article.querySelectorAll(`:is(${selector})`)) {
      if (box.closest(".highlight pre") && !box.matches("pre")) continue;
      names.set(box, called);
      box.removeAttribute("tabindex");
      box.addEventListener("scroll", () => hide(box, box.scrollWidth - box.clientWidth), { passive: true });
      watch.observe(box);
      if (box.firstElementChild) watch.observe(box.firstElementChild); // pictures come later, formulas are set later
    }

  // A formula in a line of text that is longer than the line scrolls by itself; others scroll with their box.
  const formulas = [...article.querySelectorAll("span.math")]
    .filter((formula) => !formula.closest(".pst-scrollable-table-container, .output"));
  const fit = () => {
    const end = article.getBoundingClientRect().right, shown = formulas.filter(near);
    shown.forEach((formula) => formula.classList.remove("wide"));
    const wide = shown.filter((formula) => formula.getBoundingClientRect().right > end);
    wide.forEach((formula) => formula.classList.add("wide"));
    look(shown, () => phrases.formula_scrolls);
  };
  // When the page is laid out, which is then not asked for a second time.
  const all = () => new ResizeObserver((_, once) => { once.disconnect(); look([...names.keys()], name); fit(); }).observe(article);
  new ResizeObserver(fit).observe(article);
  article.addEventListener("contentvisibilityautostatechange", all);
  document.fonts.addEventListener("loadingdone", all);
})();
