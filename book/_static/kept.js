// What stays in this browser: guesses, sentences, chapters. A browser may forbid that, or be full: then it stays as
// long as the page, and no script is stopped, of whoever it is. What is found there may be anything, and other books may lie beside this one.
const KEPT = (() => {
  "use strict";
  const page = new Map(), closed = { getItem: () => null, setItem: () => { throw null; }, removeItem() {} };
  let store = closed;
  try { store = localStorage; } catch { /* forbidden */ }
  const getItem = store.getItem.bind(store), setItem = store.setItem.bind(store), removeItem = store.removeItem.bind(store);
  Object.defineProperty(window, "localStorage", { value: {
    getItem: (name) => page.get(name) ?? getItem(name),
    setItem: (name, text) => { try { setItem(name, text); page.delete(name); } catch { page.set(name, `${text}`); } },
    removeItem: (name) => { page.delete(name); removeItem(name); },
  } });
  const book = new URL(document.documentElement.dataset.content_root, location).pathname;
  const read = (name) => localStorage.getItem(book + name) ?? "";
  const write = (name, text) => localStorage.setItem(book + name, text);
  function list(name) {
    try { return [...JSON.parse(read(name))].filter((entry) => typeof entry === "string"); } catch { return []; }
  }
  return { read, write, list, add: (name, entry) => write(name, JSON.stringify([...new Set([...list(name), entry])])) };
})();
