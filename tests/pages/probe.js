// Measures a page that is open. Evaluated by the debugger, so the policy of the page does not stop it. `sweep.py` calls the
// functions, and `findings.py` knows the shape of what they return.
window.probe = (() => {
  const INTERACTIVE = "a[href], area[href], button, input:not([type=hidden]), select, textarea, summary, [role=button]";
  const LEAST = 44, MOST = 8;

  // This may run before the page has any element.
  const root = () => document.documentElement;

  // A selector that people can read: tag, id or classes, and the beginning of the text.
  function named(element) {
    const id = element.id ? `#${element.id}` : "";
    const classes = id || typeof element.className !== "string" ? "" : element.className.trim().replace(/^(?=.)|\s+/g, ".");
    const words = (element.getAttribute("aria-label") || element.textContent || element.getAttribute("name") || "").trim();
    return `${element.localName}${id}${classes} "${words.replace(/\s+/g, " ").slice(0, 30)}"`;
  }

  const seen = (element) => element.checkVisibility({ visibilityProperty: true });
  const rounded = (number) => Math.round(number * 10) / 10;

  // Whether a part that scrolls or cuts, and fits itself, holds what sticks out.
  function held(element) {
    for (let outer = element.parentElement; outer && outer !== document.body; outer = outer.parentElement) {
      const { overflowX } = getComputedStyle(outer);
      if (overflowX !== "visible" && outer.getBoundingClientRect().right <= root().clientWidth + 1) return true;
    }
    return false;
  }

  // What ends beyond the window by this measure, which is asked for each element and its box.
  function beyond(right) {
    return [...document.body.querySelectorAll("*")].filter((each) => {
      const box = each.getBoundingClientRect();
      // Links that skip to the content wait outside of the window, and tables have a rule of their own.
      if (box.width <= 1 || right(each, box) <= root().clientWidth + 1 || box.left >= 4 * root().clientWidth) return false;
      return !each.closest("table") && seen(each) && !held(each);
    });
  }

  // The outermost boxes that stick out, or else the innermost whose words do.
  function wide() {
    const boxes = beyond((each, box) => box.right), outermost = boxes.filter((each) => !boxes.includes(each.parentElement));
    // In a drawing, this width is that of the whole drawing.
    const words = (each, box) => (each instanceof HTMLElement && getComputedStyle(each).overflowX === "visible" ? box.left + each.scrollWidth : 0);
    const over = outermost.length ? [] : beyond(words);
    const innermost = over.filter((each) => !over.some((other) => other !== each && each.contains(other)));
    const found = outermost.map((each) => [each, each.getBoundingClientRect().right]);
    found.push(...innermost.map((each) => [each, words(each, each.getBoundingClientRect())]));
    return found.slice(0, MOST).map(([each, right]) => [named(each), rounded(right)]);
  }

  function tables() {
    return [...document.querySelectorAll("table")].filter(seen).flatMap((table) => {
      const widths = [table.getBoundingClientRect().width, table.scrollWidth];
      for (let outer = table.parentElement; outer && outer !== document.body; outer = outer.parentElement) {
        if (getComputedStyle(outer).overflowX !== "visible") widths.push(outer.scrollWidth - outer.clientWidth + root().clientWidth);
      }
      const widest = Math.max(...widths);
      return widest > root().clientWidth + 1 ? [[named(table), rounded(widest)]] : [];
    });
  }

  function block(element) {
    return getComputedStyle(element).display.startsWith("inline") ? block(element.parentElement) : element;
  }

  // A link inside a sentence is exempt (WCAG 2.5.8): its block has letters of its own that belong to no target.
  function inline(element) {
    if (getComputedStyle(element).display !== "inline") return false;
    const own = block(element), texts = document.createTreeWalker(own, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const { data, parentElement: parent } = texts.currentNode;
      if (!/\p{L}/u.test(data) || parent.closest(INTERACTIVE) || block(parent) !== own) continue;
      // Words for screen readers alone have next to no width.
      if (seen(parent) && parent.getBoundingClientRect().width > 1) return true;
    }
    return false;
  }

  // The target that a tap at a point reaches. Labels reach their field.
  function tapped(x, y) {
    const hit = document.elementFromPoint(x, y);
    const target = hit && hit.closest(`${INTERACTIVE}, label`);
    return target && target.localName === "label" ? target.control : target;
  }

  // The length of the line through the middle of a target on which a tap reaches it, up to the least.
  function reach(element, across) {
    const box = element.getBoundingClientRect();
    const x = box.left + box.width / 2, y = box.top + box.height / 2;
    const at = (by) => tapped(x + (across ? by : 0), y + (across ? 0 : by)) === element;
    if (!at(0)) return 0;
    const end = (step) => {
      let by = 0;
      while (Math.abs(by) < LEAST && at(by + step)) by += step;
      return Math.abs(by);
    };
    return Math.min(end(1) + end(-1) + 1, LEAST);
  }

  // Targets that a finger misses. Low ones count always, narrow ones if another target is nearer than the least.
  function small(within) {
    const found = [];
    for (const each of within.querySelectorAll(INTERACTIVE)) {
      const { width, height } = each.getBoundingClientRect();
      if (width <= 1 || height <= 1 || !seen(each) || each.disabled) continue;
      if ((width >= LEAST - 0.5 && height >= LEAST - 0.5) || each.closest("label")?.offsetHeight >= LEAST || inline(each)) continue;
      each.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
      const { left, right, top, bottom } = each.getBoundingClientRect();
      // What waits outside of the window comes with the focus of a keyboard.
      if (right <= 0 || bottom <= 0 || left >= innerWidth || top >= innerHeight) continue;
      const wide = Math.max(width, reach(each, true)), high = Math.max(height, reach(each, false));
      const x = left + width / 2, y = top + height / 2;
      const near = [-1, 1].some((side) => ![null, undefined, each].includes(tapped(x + (side * LEAST) / 2, y)));
      if (high < LEAST - 0.5 || (wide < LEAST - 0.5 && near)) found.push([named(each), rounded(wide), rounded(high)]);
    }
    scrollTo({ top: 0, left: 0, behavior: "instant" });
    return found;
  }

  function geometry(finger) {
    scrollTo({ top: 0, left: 0, behavior: "instant" });
    const bar = document.querySelector("body > header"), title = document.querySelector("h1");
    return {
      width: root().clientWidth,
      page: Math.max(root().scrollWidth, document.body.scrollWidth),
      bar: bar && seen(bar) ? bar.clientHeight : null,
      title: title ? rounded(title.getBoundingClientRect().top + scrollY) : null,
      wide: wide(),
      tables: tables(),
      small: finger ? small(document) : [],
    };
  }

  // The parts that are closed: menus that lie over the page, or all others.
  function closed(menus) {
    return [...document.querySelectorAll("details:not([open])")].filter((each) => {
      each.open = true;
      const over = [...each.children].some((part) => /absolute|fixed/.test(getComputedStyle(part).position));
      each.open = false;
      return over === menus;
    });
  }

  function unfold() {
    for (const each of closed(false)) each.open = true;
  }

  // What sticks out of the window, and small targets, in each menu once it is open.
  function menus(finger) {
    const found = { wide: [], small: [] };
    for (const each of closed(true).filter(seen)) {
      each.open = true;
      found.wide.push(...wide());
      if (finger) found.small.push(...[...each.children].filter((part) => part.localName !== "summary").flatMap(small));
      each.open = false;
    }
    return found;
  }

  // Resolves once something is painted, or never will be because a script is in the way.
  function painted() {
    return new Promise((done) => {
      new PerformanceObserver(done).observe({ type: "paint", buffered: true });
      setTimeout(done, 500);
    });
  }

  const shifts = [];
  const shiftObserver = new PerformanceObserver((list) => shifts.push(...list.getEntries()));
  shiftObserver.observe({ type: "layout-shift", buffered: true });

  // What has moved since the first paint, and how far: the sum of the browser's scores.
  async function shifted() {
    for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
    await new Promise((done) => setTimeout(done));
    shifts.push(...shiftObserver.takeRecords());
    const nodes = shifts.flatMap((entry) => entry.sources.map((source) => source.node)).filter(Boolean);
    const parts = nodes.map((node) => named(node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement));
    return { sum: shifts.reduce((sum, entry) => sum + entry.value, 0), parts: [...new Set(parts)].slice(0, MOST) };
  }

  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

  // Red, green, blue and alpha of a colour in any notation, from 0 to 255.
  function rgba(colour) {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  }

  // The colours of a text and of what lies behind it, the nearest first, and whether a picture does.
  function colours(selector) {
    const element = document.querySelector(selector), style = getComputedStyle(element);
    const front = rgba(element instanceof SVGElement ? style.fill : style.color), backs = [];
    let picture = false, opacity = 1;
    for (let outer = element; outer; outer = outer.parentElement) {
      const { backgroundColor, backgroundImage, opacity: own } = getComputedStyle(outer);
      picture ||= backgroundImage !== "none";
      opacity *= Number(own);
      backs.push(rgba(backgroundColor));
      if (backs.at(-1)[3] === 255) break;
    }
    const large = parseFloat(style.fontSize) >= (Number(style.fontWeight) >= 700 ? 18.66 : 24);
    return { front, backs, opacity, picture, large };
  }

  // What is lost on paper, with a sheet of this height: parts that scroll on a screen are cut, and a higher part that may not
  // break leaves the sheet before it empty.
  function paper(sheet) {
    const found = [];
    for (const each of [...document.body.querySelectorAll(":not(textarea, select)")].filter(seen)) {
      const { overflowX, overflowY, breakInside } = getComputedStyle(each);
      const scrolls = (overflow, inner, outer) => /auto|scroll/.test(overflow) && inner > outer + 1;
      if (scrolls(overflowX, each.scrollWidth, each.clientWidth) || scrolls(overflowY, each.scrollHeight, each.clientHeight)) {
        found.push([named(each), "it is cut, because it scrolls on a screen"]);
      }
      if (breakInside === "avoid" && each.offsetHeight > sheet) found.push([named(each), "it is higher than a sheet and may not break"]);
    }
    if (root().scrollWidth > root().clientWidth) found.push(["html", `it is ${root().scrollWidth} px wide on ${root().clientWidth}`]);
    return found.slice(0, MOST);
  }

  // What tells two states of one kind of element apart when the system chooses all colours: no background, and no weight.
  function drawn(element) {
    const of = (part) => {
      const { borderColor, borderWidth, color, content, outlineStyle, textDecorationLine } = getComputedStyle(element, part);
      return [borderColor, borderWidth, color, content, outlineStyle, textDecorationLine];
    };
    return JSON.stringify([null, "::before", "::after"].map(of));
  }

  // A ring around the element, its label, or the card or row that it stands for.
  function ringed(element) {
    const near = [element, element.nextElementSibling];
    for (let outer = element.parentElement; outer && near.length < 6; outer = outer.parentElement) near.push(outer);
    return near.filter(Boolean).map((each) => getComputedStyle(each)).some(({ outlineStyle, outlineWidth }) => {
      return outlineStyle === "auto" || (outlineStyle !== "none" && parseFloat(outlineWidth) >= 2);
    });
  }

  // States and focus that do not show in colours of the system.
  function forced() {
    const pairs = [...document.querySelectorAll("a[aria-current]")].map((one) => [one, one.closest("ul, nav")?.querySelector("a:not([aria-current])")]);
    for (const one of document.querySelectorAll("input:checked + label")) pairs.push([one, one.parentElement.querySelector("input:not(:checked) + label")]);
    for (const one of document.querySelectorAll("ins")) pairs.push([one, one.parentElement]);
    const found = pairs.filter(([one, other]) => seen(one) && other && drawn(one) === drawn(other)).map(([one]) => [named(one), "it looks like its neighbour"]);
    for (const each of document.querySelectorAll(INTERACTIVE)) {
      if (!seen(each) || each.disabled) continue;
      each.focus({ preventScroll: true });
      if (document.activeElement === each && !ringed(each)) found.push([named(each), "its focus does not show"]);
    }
    document.activeElement?.blur();
    return found.slice(0, MOST);
  }

  return { colours, forced, geometry, menus, painted, paper, shifted, unfold };
})();
