// Shows what a link to a formula or to a word of the glossary leads to, on hover and on focus; Escape hides it. Without
// this script the browser shows the title of the link.
(() => {
  "use strict";
  const links = document.querySelectorAll("a.preview");
  if (!links.length) return;
  const card = Object.assign(document.createElement("div"), { id: "preview-card", role: "tooltip", hidden: true });
  document.body.append(card);
  let leaving;

  function formula(link) {
    const anchor = link.hash && link.pathname === location.pathname ? document.getElementById(link.hash.slice(1)) : null;
    const block = anchor?.nextElementSibling?.cloneNode(true);
    block?.querySelectorAll("[id]").forEach((part) => part.removeAttribute("id"));
    block?.removeAttribute("tabindex");
    return block;
  }
  function show(link) {
    clearTimeout(leaving);
    card.replaceChildren(formula(link) ?? link.dataset.preview);
    card.hidden = false;
    const { left, top, bottom } = link.getBoundingClientRect();
    const { width, height } = card.getBoundingClientRect();
    const y = bottom + height + 12 < innerHeight ? bottom + 6 : top - height - 6;
    card.style.left = `${scrollX + Math.max(8, Math.min(left, document.documentElement.clientWidth - width - 8))}px`;
    card.style.top = `${scrollY + y}px`;
    link.setAttribute("aria-describedby", card.id);
  }
  function hide() {
    card.hidden = true;
    links.forEach((link) => link.removeAttribute("aria-describedby"));
  }
  const hideSoon = () => { leaving = setTimeout(hide, 200); };
  links.forEach((link) => {
    link.dataset.preview = link.title;
    link.removeAttribute("title");
    link.addEventListener("mouseenter", () => show(link));
    link.addEventListener("mouseleave", hideSoon);
    link.addEventListener("focus", () => show(link));
    link.addEventListener("blur", hide);
  });
  card.addEventListener("mouseenter", () => clearTimeout(leaving));
  card.addEventListener("mouseleave", hideSoon);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
})();
