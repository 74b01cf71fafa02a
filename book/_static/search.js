// What Sphinx's search leaves out: the order of what was found, and an excerpt that needs no server. The index is made of
// sections, whose names are addresses.
(() => {
  "use strict";
  const found = document.getElementById("search-results");
  if (!found) return;
  const phrases = JSON.parse(document.documentElement.dataset.phrases);  // from phrases.toml
  DOCUMENTATION_OPTIONS.LINK_SUFFIX = "";
  const asked = (new URLSearchParams(location.search).get("q") ?? "").toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const common = asked.length && asked.every((word) => [...stopwords].includes(word) || /^\d+$/.test(word));
  // Not by addTranslations, which makes a function of a string.
  Object.assign(Documentation.TRANSLATIONS, {
    "Search finished, found ${resultCount} page(s) matching the search query.": phrases.places,
    "Your search did not match any documents. Please make sure that all words are spelled correctly and that you've selected enough categories.":
      common ? phrases.common : phrases.nothing,
  });

  const query = (new URLSearchParams(location.search).get("q") ?? "").toLowerCase().trim();
  const words = () => splitQuery(query);
  const stem = (word) => new Stemmer().stemWord(word);
  // A word that JavaScript reserves is a word: `constructor` is a property of every other table.
  const table = Object.assign(Object.create(null), { hasOwnProperty: Object.prototype.hasOwnProperty });
  for (const terms of [Search._index.terms, Search._index.titleterms]) Object.setPrototypeOf(terms, table);

  // The texts of a page, of which excerpts are shown: asked for when there is one to show, by a script, as in a folder.
  const texts = new Map(), asked_for = new Map();
  window.EXCERPTS = (own) => Object.entries(own).forEach((entry) => texts.set(...entry));
  const load = (page) => {
    if (!asked_for.has(page)) asked_for.set(page, new Promise((done) => {
      const src = `_static/excerpts/${page.replace(/\.html$/, ".js")}`;
      document.head.append(Object.assign(document.createElement("script"), { src, onload: done, onerror: done }));
    }));
    return asked_for.get(page);
  };

  const plain = (name) => name.toLowerCase().replaceAll("-", " ").trim();
  // The chapter that is about this comes first, then the entry of the glossary that has this name; then a title that has
  // the words, that of a chapter before that of a section; then who says them most often, as the index has ordered it.
  Scorer.score = ([address, title]) => {
    const own = title.toLowerCase().split("<small>")[0];
    const titled = new Set(splitQuery(own).map(stem));
    const shared = words().filter((word) => titled.has(stem(word))).length / words().length;
    const subject = own.replace(/^\d+ · /, "").split(":")[0];
    if (!address.includes("#") && plain(subject) === plain(query)) return 200;
    const names = Search._index.names[address] ?? [];
    if (address.startsWith("book/glossary") && [own, ...names].map(plain).includes(plain(query))) return 100;
    const at = Search._index.docnames.indexOf(address);
    const often = words().map((word) => [Search._index.terms[stem(word)] ?? []].flat().indexOf(at))
      .map((place) => (place < 0 ? 0 : 1 / (1 + place))).reduce((a, b) => a + b, 0) / words().length;
    const exact = own.replaceAll("-", " ").includes(query.replaceAll("-", " ")) ? 1 : 0;
    return 10 * shared + 3 * exact + (shared === 1 && !address.includes("#") ? 5 : 0) + often;
  };

  function excerpt(text) {
    const low = text.toLowerCase();
    const places = [query, ...words(), ...words().map(stem)].map((word) => low.indexOf(word)).filter((at) => at >= 0);
    const at = places[0] ?? 0;
    const from = at < 90 ? 0 : text.lastIndexOf(" ", at - 60) + 1;
    const end = text.indexOf(" ", from + 200);
    return (from ? "… " : "") + text.slice(from, end < 0 ? undefined : end) + (end < 0 ? "" : " …");
  }
  async function show(item) {
    const address = item.querySelector("a").getAttribute("href");
    await load(address.split("#")[0]);
    const text = texts.get(address);
    if (!text) return;
    const entry = address.startsWith("book/glossary");
    const textContent = entry ? text.slice(0, text.search(/[.。](\s|$)/) + 1 || undefined) : excerpt(text);
    const shown = Object.assign(document.createElement("p"), { className: "context", textContent });
    item.append(shown);
    const runs = (query.match(/[\u3400-\u9fff]{2,}/gu) ?? []).filter((run) => text.includes(run));
    [...runs, ...words().filter((word) => !runs.some((run) => run.includes(word)))]
      .forEach((word) => _highlightText(shown, word, "highlighted"));
  }
  new MutationObserver((changes) => {
    changes.flatMap((change) => [...change.addedNodes]).filter((node) => node.nodeName === "LI").forEach(show);
    if (found.textContent.includes(phrases.nothing) && !found.querySelector(".chapters")) {
      const chapters = [...document.querySelectorAll(".bd-links a.internal[href*='notebooks/']")].map((link) => {
        const item = document.createElement("li");
        item.append(link.cloneNode(true));
        return item;
      });
      const list = Object.assign(document.createElement("ul"), { className: "chapters" });
      list.append(...chapters);
      found.append(list);
    }
  }).observe(found, { childList: true, subtree: true, characterData: true });
})();
