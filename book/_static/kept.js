// What stays in this browser: guesses, sentences, chapters. A browser may forbid that; then nothing is kept.
const KEPT = {
  read: (name) => { try { return localStorage.getItem(name) ?? ""; } catch { return ""; } },
  write: (name, text) => { try { localStorage.setItem(name, text); } catch { /* not kept */ } },
  list: (name) => { try { return JSON.parse(KEPT.read(name) || "[]"); } catch { return []; } },
  add: (name, entry) => KEPT.write(name, JSON.stringify([...new Set([...KEPT.list(name), entry])])),
};
