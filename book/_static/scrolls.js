// What is wider than its place fades on the side where more is hidden, and the keyboard can reach and scroll it.
(() => {
  "use strict";
  const phrases = JSON.parse(document.documentElement.dataset.phrases);  // from phrases.toml
  const NAMES = [[".scrolls", phrases.figure_scrolls], [".highlight pre", phrases.code_scrolls], ["div.math", phrases.formula_scrolls], [".pst-scrollable-table-container, .output.text_html", phrases.table_scrolls]];
  const tell = (box) => {
    const hidden = box.scrollWidth - box.clientWidth, at = box.scrollLeft;
    const sides = [at > 1 && "left", at < hidden - 1 && "right"].filter(Boolean).join(" ");
    if (sides) box.dataset.more = sides;
    else delete box.dataset.more;
    return hidden > 0;
  };
  const look = (box, name) => {
    if (!box.clientWidth) return;
    if (tell(box)) {
      box.tabIndex = 0;
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", `${name}, wider than the page`);
    } else if (box.getAttribute("role") === "group") {
      for (const attribute of ["tabindex", "role", "aria-label"]) box.removeAttribute(attribute);
    }
  };
  const names = new Map();
  const watch = new ResizeObserver((changed) => changed.forEach(({ target }) => {
    const box = names.has(target) ? target : target.parentElement;
    look(box, names.get(box));
  }));
  for (const [selector, name] of NAMES)
    for (const box of document.querySelectorAll(`.bd-article :is(${selector})`)) {
      if (box.closest(".highlight pre") && !box.matches("pre")) continue;
      names.set(box, name);
      box.removeAttribute("tabindex");
      box.addEventListener("scroll", () => tell(box), { passive: true });
      watch.observe(box);
      if (box.firstElementChild) watch.observe(box.firstElementChild); // pictures come later, formulas are set later
    }

  document.fonts.addEventListener("loadingdone", () => names.forEach((name, box) => look(box, name)));

  // A formula in a line of text that is longer than the line scrolls by itself.
  const article = document.querySelector(".bd-article");
  const fit = () => {  // all are measured, then all are changed: the page is laid out once
    const end = article.getBoundingClientRect().right;
    const formulas = [...article.querySelectorAll("span.math")]  // others scroll with their box
      .filter((formula) => !formula.closest(".pst-scrollable-table-container, .output"));
    formulas.forEach((formula) => formula.classList.remove("wide"));
    const wide = formulas.filter((formula) => formula.getBoundingClientRect().right > end);
    wide.forEach((formula) => formula.classList.add("wide"));
    formulas.forEach((formula) => look(formula, phrases.formula_scrolls));
  };
  if (article) new ResizeObserver(fit).observe(article);
})();
