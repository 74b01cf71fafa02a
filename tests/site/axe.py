"""What axe-core finds on a page, where it has not found the same on a page before.

axe-core spends most of its time on the contrast of colours: it asks what lies behind each of the thousands of elements
of a page. A page has some thirty looks, and nearly all of them are the same on each page. So one element of each look
is measured, and a look that passed once is not measured again.
"""

from typing import Any

from axe_playwright_python.sync_playwright import Axe

# Rules that axe-core holds back, as experimental or as too new.
MORE = ["label-content-name-mismatch", "p-as-heading", "table-fake-caption", "td-has-header", "target-size"]
COLOURS = ["color-contrast", "link-in-text-block"]
PASSED: set[str] = set()  # each worker's own

# A look is all that decides a contrast: colour, size and weight of a text, whether axe excuses it, and the grounds
# behind it; for a link also its lines, and the look of the text around it. The longest text of each look is measured
# (axe passes over a single letter), but each link: only what stands in a text is compared with it. What axe cannot tell
# is asked again on the next page. At the top of the page nothing lies under the header, which stays in sight.
FIND_FAULTS = """async ([only, passed, more]) => {
  for (const part of [document.documentElement, ...document.querySelectorAll('.bd-sidebar')])
    part.scrollTo({top: 0, behavior: 'instant'});
  const known = new Set(passed), grounds = new Map([[null, '']]), longest = new Map();
  const looks = {'color-contrast': new Map(), 'link-in-text-block': new Map()};
  const describe = element => {
    const s = getComputedStyle(element), excused = !!element.closest('label, :disabled, [aria-disabled=true]');
    return [s.color, s.fontSize, s.fontWeight, s.fontStyle, s.textShadow, excused, grounds.get(element)].join();
  };
  for (const element of document.querySelectorAll('body, body *')) {
    const s = getComputedStyle(element), behind = grounds.get(element.parentElement) ?? '';
    const own = [s.backgroundColor, s.backgroundImage, s.opacity, s.filter, s.mixBlendMode, s.position].join();
    grounds.set(element, own === 'rgba(0, 0, 0, 0),none,1,none,normal,static' ? behind : own + '>' + behind);
    let length = element.matches('input, select, textarea') ? 1 : 0;
    for (const child of element.childNodes) if (child.nodeType === 3) length += child.data.trim().length;
    const link = element.matches('a[href], [role=link]');
    if (!(length || link) || !element.checkVisibility({visibilityProperty: true, opacityProperty: true})) continue;
    const look = describe(element);
    if (length && !known.has(look) && !(longest.get(look)?.[1] >= length)) longest.set(look, [element, length]);
    let block = element.parentElement;
    while (link && getComputedStyle(block).display.startsWith('inline')) block = block.parentElement;
    const linked = link && [look, s.textDecoration, s.borderBottom, s.outline, ' in ', describe(block)].join();
    if (link && !known.has(linked)) looks['link-in-text-block'].set(element, linked);
  }
  longest.forEach(([element], look) => looks['color-contrast'].set(element, look));
  const mark = on => Object.entries(looks).forEach(([rule, of]) =>
    of.forEach((_, element) => element.toggleAttribute(`data-${rule}`, on)));
  mark(true);
  axe.configure({noHtml: true, rules: [...Object.keys(looks).map(id => ({id, selector: `[data-${id}]`})),
    ...more.map(id => ({id, enabled: true}))]});
  const html = ({node: {element}}) => element.outerHTML.slice(0, 200);
  axe.addReporter('looks', (rules, options, done) => {
    mark(false);
    const faults = rules.flatMap(r => r.violations.map(found => `${r.id} (${r.impact}): ${html(found)}`));
    done([faults, rules.flatMap(r => r.passes.flatMap(({node: {element}}) => looks[r.id]?.get(element) ?? []))]);
  });
  // Without `preload`: axe would fetch each style sheet again, which fails on files.
  return axe.run({reporter: 'looks', preload: false, ...(only ? {runOnly: only} : {})});
}"""


def find_faults(window: Any, only: list[str] | None = None) -> list[str]:
    """What axe-core finds, of any impact, by all rules or only some."""
    if not window.evaluate("!!window.axe"):
        window.evaluate(Axe().axe_script)
    faults, passed = window.evaluate(FIND_FAULTS, [only, sorted(PASSED), MORE])
    PASSED.update(passed)
    return faults
