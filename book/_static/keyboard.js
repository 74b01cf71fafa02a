// What a keyboard needs: buttons that keep the focus and say their state, drawers that close and give the focus back,
// and a contents bar that marks the section which is read.
(() => {
  "use strict";
  const root = document.documentElement;
  const phrases = JSON.parse(root.dataset.phrases);  // from phrases.toml
  const fill = (phrase, ...values) => phrase.replaceAll("{}", () => values.shift());
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  addEventListener("click", ({ target }) => { if (target.closest?.("a[href*='#']")) root.dataset.whole = ""; }, true);

  // The theme takes the focus away from these when they are pressed.
  for (const button of all(".theme-switch-button, .search-button, .primary-toggle, .secondary-toggle")) button.blur = () => {};

  const name = () => {
    const mode = phrases[root.dataset.mode] ?? root.dataset.mode;
    for (const button of all(".theme-switch-button")) button.setAttribute("aria-label", fill(phrases.colours, mode));
  };
  new MutationObserver(name).observe(root, { attributes: true, attributeFilter: ["data-mode"] });
  name();

  const bars = { primary: matchMedia("(min-width: 992px)"), secondary: matchMedia("(min-width: 1200px)") };
  for (const [side, wide] of Object.entries(bars)) {
    const bar = document.getElementById(`pst-${side}-sidebar`), drawer = document.getElementById(`pst-${side}-sidebar-modal`);
    const toggles = all(`.${side}-toggle`);
    if (!bar || !drawer || !toggles.length) continue;
    const close = Object.assign(document.createElement("button"), { type: "button", className: "drawer-close", textContent: phrases.close });
    close.addEventListener("click", () => drawer.close());
    bar.prepend(close);
    const tell = () => {
      const open = drawer.open || (wide.matches && !bar.classList.contains("pst-sidebar-hidden"));
      toggles.forEach((toggle) => toggle.setAttribute("aria-expanded", open));
    };
    let opener = null;
    toggles.forEach((toggle) => toggle.addEventListener("click", () => { opener = toggle; }, true));
    drawer.addEventListener("close", () => setTimeout(() => opener?.focus()));
    drawer.addEventListener("click", ({ target }) => {
      const heading = document.getElementById(decodeURIComponent(target.closest("a[href^='#']")?.hash.slice(1) ?? ""));
      if (!heading) return;
      opener = Object.assign(heading, { tabIndex: -1 });  // the focus goes where the reader went
      drawer.close();
    });
    const watch = new MutationObserver(tell);
    watch.observe(drawer, { attributes: true, attributeFilter: ["open"] });
    watch.observe(bar, { attributes: true, attributeFilter: ["class"] });
    wide.addEventListener("change", tell);
    tell();
  }

  // All copy buttons are one stop; the arrow keys lead from each to the next. What is folded is read off the page: to ask
  // whether a button can be seen would lay all of it out.
  const inSight = (button) => !button.closest("details:not([open])");
  addEventListener("DOMContentLoaded", () => setTimeout(() => {
    const buttons = all(".copybtn");
    const first = buttons.find(inSight);
    const said = Object.assign(document.createElement("p"), { role: "status", className: "said" });
    document.body.append(said);
    const number = () => {  // those in sight first: what is folded does not count
      const shown = buttons.filter(inSight);
      const order = [...shown, ...buttons.filter((button) => !shown.includes(button))];
      order.forEach((button, i) => button.setAttribute("aria-label", fill(phrases.copy, i + 1, shown.length)));
    };
    number();
    document.addEventListener("toggle", number, true);
    buttons.forEach((button) => {
      button.tabIndex = button === first ? 0 : -1;
      button.addEventListener("click", () => setTimeout(() => {  // copying takes the focus away
        button.focus();
        said.textContent = fill(phrases.copied, ...button.getAttribute("aria-label").match(/\d+/g));
      }, 50));
      button.addEventListener("keydown", ({ key }) => {
        const shown = buttons.filter(inSight);
        const at = shown.indexOf(button);
        const [before, after] = [shown.at(at - 1), shown[(at + 1) % shown.length]];
        const next = { ArrowDown: after, ArrowRight: after, ArrowUp: before, ArrowLeft: before, Home: shown[0],
          End: shown.at(-1) }[key];
        if (!next) return;
        [button.tabIndex, next.tabIndex] = [-1, 0];
        next.focus();
      });
    });
  }));

  // Words that were looked for: in the section that the search leads to, one is seen. What else is folded stays so, and
  // says how many are in it; without any there is nothing to hide.
  addEventListener("DOMContentLoaded", () => setTimeout(() => {
    const words = all("span.highlighted"), opened = [];
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const here = words.filter((word) => !target || target.closest("section").contains(word));
    if (here.length && !here.some((word) => word.checkVisibility())) {
      for (let fold = here[0].closest("details"); fold; fold = fold.parentElement.closest("details")) {
        fold.open = true;
        opened.push(fold);
      }
    }
    const counts = all("details:not([open])").map((fold) => [fold, all("span.highlighted", fold).length])
      .filter(([, hits]) => hits)
      .map(([fold, hits]) => {
        const count = Object.assign(document.createElement("span"), { className: "hits", textContent: ` (${fill(phrases.hits, hits)})` });
        fold.querySelector("summary").append(count);
        return count;
      });
    const hide = document.querySelector(".highlight-link");
    hide?.querySelector("i")?.remove();
    hide?.addEventListener("click", () => {
      counts.forEach((count) => count.remove());
      opened.forEach((fold) => { fold.open = false; });
    });
    if (!words.length) hide?.remove();
  }));

  // Who goes to the field of the search will need what it reads; a folder is near enough.
  if (location.protocol !== "file:") addEventListener("focusin", ({ target }) => {
    if (!target.matches("form.bd-search input") || document.querySelector("link[href$='searchindex.js']")) return;
    for (const name of ["searchindex.js", "_static/searchtools.js", "_static/language_data.js"])
      document.head.append(Object.assign(document.createElement("link"), { rel: "prefetch", href: root.dataset.content_root + name }));
  });

  // Another language begins where this one is read.
  addEventListener("click", ({ target }) => {
    const link = target.closest("nav.languages a");
    if (!link) return;
    mark();
    link.hash = document.querySelector("#page-contents a.active")?.hash ?? location.hash;
  }, true);

  // The bar of chapters begins at its head, unless the page that is read stands further down.
  if (bars.primary.matches) addEventListener("load", () => setTimeout(() => {
    const bar = document.getElementById("pst-primary-sidebar"), current = bar?.querySelector(".toctree-l1.current");
    if (current && bar.scrollTop + current.getBoundingClientRect().bottom < innerHeight) bar.scrollTop = 0;
  }));

  // Paper is white.
  let shown = root.dataset.theme;
  addEventListener("beforeprint", () => { shown = root.dataset.theme; root.dataset.theme = "light"; });
  addEventListener("afterprint", () => { root.dataset.theme = shown; });

  // The section whose heading is the last one above the upper third; at the end of the page, the one that was asked for.
  const links = all("#page-contents a[href^='#']");
  const headings = links.map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))));
  const mark = () => {  // what is not laid out is far away, and is not asked: that would lay it out
    const near = (heading) => heading?.checkVisibility({ contentVisibilityAuto: true });
    const tops = headings.map((heading) => (near(heading) ? heading.getBoundingClientRect().top : Infinity));
    let read = tops.findLastIndex((top) => top < 0.2 * innerHeight);
    const asked = links.findIndex((link) => link.hash === location.hash);
    const end = scrollY + innerHeight >= root.scrollHeight - 2;
    if (end && asked > read && tops[asked] < innerHeight) read = asked;
    links.forEach((link, i) => {
      link.classList.toggle("active", i === read);
      link.parentElement.classList.toggle("active", link.parentElement.contains(links[read] ?? null));
      if (i === read) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    });
  };
  let waiting = false;
  const later = () => {
    if (!bars.secondary.matches) return;  // there it is marked when somebody looks
    if (!waiting) requestAnimationFrame(() => { waiting = false; mark(); });
    waiting = true;
  };
  if (links.length) {
    for (const event of ["scroll", "resize", "hashchange"]) addEventListener(event, later, { passive: true });
    addEventListener("click", ({ target }) => { if (target.closest?.(".secondary-toggle")) mark(); }, true);
    later();
  }
})();
