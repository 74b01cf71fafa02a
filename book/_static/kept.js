// What stays in this browser: guesses, sentences, chapters. A browser may forbid that, or be full: then it stays as
// long as the page, and no script is stopped, of whoever it is. What is found there may be anything, and other books
// may lie beside this one.
const KEPT = (() => {
  "use strict";
  for (const kind of ["localStorage", "sessionStorage"]) {
    const page = new Map();
    let store = { getItem: () => null, setItem: () => { throw new Error("forbidden"); }, removeItem() {} };
    try { store = window[kind]; } catch { /* forbidden */ }
    Object.defineProperty(window, kind, { value: {
      getItem: (name) => page.get(name) ?? store.getItem(name),
      setItem: (name, text) => { page.delete(name); try { store.setItem(name, text); } catch { page.set(name, `${text}`); } },
      removeItem: (name) => { page.delete(name); store.removeItem(name); },
    } });
  }
  const VERSION = 1;  // of what the names below mean: a new one begins with nothing
  // In all languages the book is the same one.
  const { lang, dataset } = document.documentElement, home = new URL(dataset.content_root, location).pathname;
  const book = `${lang === "en" ? home : home.replace(new RegExp(`/${lang.slice(0, 2)}/$`), "/")}${VERSION}/`;
  const read = (name) => localStorage.getItem(book + name) ?? "";
  const write = (name, text) => localStorage.setItem(book + name, text);
  function list(name) {
    try { return [...JSON.parse(read(name))].filter((entry) => typeof entry === "string"); } catch { return []; }
  }
  return { read, write, list, add: (name, entry) => write(name, JSON.stringify([...new Set([...list(name), entry])])) };
})();
// Who goes to a place of the page, or comes back to it, needs all above it laid out (layout.css).
if (location.hash || performance.getEntriesByType("navigation")[0]?.type !== "navigate") document.documentElement.dataset.whole = "";
