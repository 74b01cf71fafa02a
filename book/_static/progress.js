// Which chapters were read to their end, in this browser alone: said in the list of chapters and on the title page.
(() => {
  "use strict";
  const phrases = JSON.parse(document.documentElement.dataset.phrases);  // from phrases.toml
  const KEY = "chapters-read";
  const name = (link) => /notebooks\/([\w-]+)\.html$/.exec(link.pathname)?.[1];

  const links = [...document.querySelectorAll(".bd-links a.internal, .chapter-cards strong a")].filter(name);
  const chapters = new Set(links.map(name));
  const count = Object.assign(document.createElement("p"), { className: "progress-read" });
  document.querySelector(".bd-links")?.prepend(count);
  const parts = [...document.querySelectorAll(".whole a")];  // of the drawing on the title page
  function tell() {
    const done = new Set(KEPT.list(KEY).filter((chapter) => chapters.has(chapter)));
    for (const part of parts) part.classList.toggle("part-read", done.has(/([\w-]+)\.html$/.exec(part.href.baseVal)[1]));
    for (const link of links) {
      link.querySelector(".chapter-read")?.remove();
      if (!done.has(name(link))) continue;
      const mark = Object.assign(document.createElement("span"), { className: "chapter-read", textContent: " ✓" });
      mark.append(Object.assign(document.createElement("span"), { className: "said", textContent: ` ${phrases.read}` }));
      link.append(mark);
    }
    count.textContent = phrases.chapters_read.replace("{}", done.size).replace("{}", chapters.size);
  }
  tell();

  // The last line of the chapter: who jumps to the exercises has not read it.
  const end = document.querySelector(".bd-article > section > section:last-of-type > :last-child");
  if (!end || !name(location)) return;
  new IntersectionObserver(([{ isIntersecting }], watch) => {
    if (!isIntersecting) return;
    watch.disconnect();
    KEPT.add(KEY, name(location));
    tell();
  }).observe(end);
})();
