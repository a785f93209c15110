"use strict";
// Tables are sorted by the buttons that are put into their headings here, and long ones get a filter.
// Timelines can be zoomed, moved and searched, and say what was clicked.
// Nothing is made of text but text.
(() => {
  const collator = new Intl.Collator("en", { numeric: true });
  const key = (row, column) => {
    const cell = row.cells[column];
    if (!cell) return null;
    return "by" in cell.dataset ? Number(cell.dataset.by) : cell.textContent;
  };
  const compared = (a, b) => {
    const are_numbers = typeof a === "number" && typeof b === "number";
    if (are_numbers) return a - b;
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return collator.compare(a, b);
  };
  const sort = (table, heading, column) => {
    const first = heading.classList.contains("number") ? "descending" : "ascending";
    const other = first === "ascending" ? "descending" : "ascending";
    const order = heading.getAttribute("aria-sort") === first ? other : first;
    for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", order);
    const body = table.tBodies[0];
    const rows = Array.from(body.rows, (row) => [key(row, column), row]);
    rows.sort((a, b) => (order === "ascending" ? 1 : -1) * compared(a[0], b[0]));
    body.append(...rows.map((pair) => pair[1]));
  };
  const add_filter = (table) => {
    const label = document.createElement("label");
    label.className = "filter";
    label.append("Filter rows");
    const input = document.createElement("input");
    input.type = "search";
    input.addEventListener("input", () => {
      const wanted = input.value.toLowerCase();
      for (const row of table.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
    label.append(input);
    table.parentElement.before(label);
  };
  for (const table of document.querySelectorAll(".table > table")) {
    const headings = Array.from(table.tHead.rows[0].cells);
    if (table.tBodies[0].rows.length < 2) continue;
    headings.forEach((heading, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      button.addEventListener("click", () => sort(table, heading, column));
      heading.append(button);
    });
    if (table.tBodies[0].rows.length > 12) add_filter(table);
  }

  for (const full of document.querySelectorAll(".full")) full.title = full.textContent;

  const made = (name, words, within) => {
    const all = document.createElement(name);
    all.append(words);
    within.append(all);
    return all;
  };
  const drawn = (name, attributes, words) => {
    const all = document.createElementNS(document.querySelector("svg").namespaceURI, name);
    for (const each in attributes) all.setAttribute(each, attributes[each]);
    all.append(words);
    return all;
  };
  const duration = (ns) => {
    const units = [["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]];
    const [unit, size] = units.find(([, one]) => ns >= one) ?? units[3];
    return `${Number((ns / size).toPrecision(4))} ${unit}`;
  };
  const round_mark = (ns) => {
    const power = 10 ** Math.floor(Math.log10(ns));
    return [1, 2, 5, 10].map((each) => each * power).find((each) => each >= ns);
  };
  const limited = (value, low, high) => Math.min(Math.max(value, low), high);

  // What a timeline shows. moves: its <svg> that is zoomed; seen.at: where that begins, a share of the whole.
  const view_of = (moves) => {
    const left = moves.x.baseVal.value, width = moves.width.baseVal.value;
    const bottom = moves.height.baseVal.value;
    const whole_ns = Number(moves.dataset.ns), most = Number(moves.dataset.zoom);
    const bars = Array.from(moves.querySelectorAll("rect"), (rect) => {
      const more = document.getElementById(rect.dataset.more)?.textContent;
      if (more) rect.firstElementChild.append(`\n${more}`);
      const text = rect.nextElementSibling?.matches("text") ? rect.nextElementSibling : null;
      const words = rect.textContent, first = words.split("\n")[0];
      const name = first.slice(0, first.lastIndexOf(": "));
      return { rect, text, words, name, x: rect.x.baseVal.value - left, width: rect.width.baseVal.value };
    });
    const rules = Array.from(moves.querySelectorAll(".rule"), (line) => {
      const text = line.nextElementSibling?.matches("text") ? line.nextElementSibling : null;
      return { line, text, x: line.x1.baseVal.value - left };
    });
    const seen = { at: 0, zoom: 1 };
    const place = (x) => left + (x - seen.at * width) * seen.zoom;
    const draw_name = (each, from, until) => {
      const letters = until - from > 32 ? Math.floor((until - from - 6) / 6.6) : 0;
      if (letters && !each.text) {
        const style = each.rect.matches(".idle") ? "note" : "inside", y = each.rect.y.baseVal.value + 13;
        each.text = drawn("text", { y, "text-anchor": "middle", class: style }, "");
        each.rect.after(each.text);
      }
      if (!each.text) return;
      each.text.setAttribute("x", (from + until) / 2);
      each.text.textContent = each.name.slice(0, letters);
    };
    const draw_bar = (each) => {
      const begin = place(each.x), end = begin + Math.max(each.width * seen.zoom, 0.6);
      each.rect.setAttribute("x", begin);
      each.rect.setAttribute("width", end - begin);
      draw_name(each, Math.max(begin, left), Math.min(end, left + width));
    };
    const draw_rule = ({ line, text, x }) => {
      for (const name of ["x1", "x2"]) line.setAttribute(name, place(x));
      text?.setAttribute("x", place(x) + (text.getAttribute("text-anchor") === "end" ? -4 : 4));
    };
    const draw_marks = () => {
      for (const old of moves.parentNode.querySelectorAll(":scope > .grid, :scope > .tick")) old.remove();
      const apart = round_mark(whole_ns / seen.zoom / (width / 90));
      const until = (seen.at + 1 / seen.zoom) * whole_ns;
      for (let nth = Math.ceil((seen.at * whole_ns) / apart); nth * apart <= until; ++nth) {
        const x = place(((nth * apart) / whole_ns) * width);
        moves.before(drawn("line", { x1: x, x2: x, y1: 20, y2: bottom, class: "grid" }, ""),
                     drawn("text", { x, y: bottom + 15, "text-anchor": "middle", class: "tick" },
                           duration(nth * apart)));
      }
    };
    const show = (at, zoom) => {
      seen.zoom = limited(zoom, 1, most);
      seen.at = limited(at, 0, 1 - 1 / seen.zoom);
      bars.forEach(draw_bar);
      rules.forEach(draw_rule);
      draw_marks();
    };
    // middle: the share of what is seen that stays where it is.
    const zoom_by = (factor, middle = 0.5) => {
      const zoom = limited(seen.zoom * factor, 1, most);
      show(seen.at + middle / seen.zoom - middle / zoom, zoom);
    };
    const centre = (each) => {
      const zoom = limited(width / (4 * Math.max(each.width, 0.1)), seen.zoom, most);
      show((each.x + each.width / 2) / width - 0.5 / zoom, zoom);
    };
    const share_of = (event) => {
      const to_units = moves.getScreenCTM().inverse();
      return limited((to_units.a * event.clientX + to_units.e - left) / width, 0, 1);
    };
    // Of its row, within the width of a finger's tip: what is thin cannot be hit.
    const nearest = (event) => {
      const apart = ({ rect }) => {
        const box = rect.getBoundingClientRect();
        if (event.clientY < box.top - 2 || event.clientY > box.bottom + 2) return Infinity;
        return Math.max(box.left - event.clientX, event.clientX - box.right, 0);
      };
      let best = null, least = 12;
      for (const each of bars) {
        const here = apart(each);
        if (here >= least) continue;
        best = each;
        least = here;
      }
      return best;
    };
    return { bars, seen, show, zoom_by, centre, share_of, nearest };
  };

  const add_keys = (view, chart, bar) => {
    const move_by = (share) => view.show(view.seen.at + share / view.seen.zoom, view.seen.zoom);
    const nearer = () => view.zoom_by(1.5);
    const acts = { "-": () => view.zoom_by(1 / 1.5), "+": nearer, "=": nearer,
                   ArrowLeft: () => move_by(-0.2), ArrowRight: () => move_by(0.2), 0: () => view.show(0, 1) };
    chart.addEventListener("keydown", (event) => {
      if (!Object.hasOwn(acts, event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      acts[event.key]();
    });
    const buttons = [["\u2212", "-", "Zoom out"], ["+", "+", "Zoom in"], ["\u2190", "ArrowLeft", "Earlier"],
                     ["\u2192", "ArrowRight", "Later"], ["All", "0", "All of the step"]];
    for (const [words, key, name] of buttons) {
      const button = made("button", words, bar);
      button.type = "button";
      button.ariaLabel = button.title = name;
      button.addEventListener("click", acts[key]);
    }
  };
  const add_pointer = (view, chart) => {
    let held = null;
    chart.addEventListener("wheel", (event) => {
      if (document.activeElement !== chart && !event.ctrlKey) return;  // the page scrolls
      event.preventDefault();
      view.zoom_by(event.deltaY < 0 ? 1.25 : 0.8, view.share_of(event));
    }, { passive: false });
    chart.addEventListener("pointerdown", (event) => {
      held = { share: view.share_of(event), at: view.seen.at };
    });
    window.addEventListener("pointermove", (event) => {
      if (!held || view.seen.zoom === 1) return;
      view.show(held.at + (held.share - view.share_of(event)) / view.seen.zoom, view.seen.zoom);
    });
    for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, () => { held = null; });
  };
  const add_search = (view, bar, says) => {
    const input = made("input", "", made("label", "Find", bar)), found = made("output", "", bar);
    let hits = [], nth = 0;
    input.type = "search";
    input.addEventListener("input", () => {
      const wanted = input.value.toLowerCase();
      hits = wanted ? view.bars.filter((each) => each.words.toLowerCase().includes(wanted)) : [];
      nth = 0;
      for (const each of view.bars) each.rect.classList.toggle("faded", !!wanted && !hits.includes(each));
      found.textContent = wanted ? `${hits.length} found` : "";
    });
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !hits.length) return;
      const hit = hits[nth++ % hits.length];
      view.centre(hit);
      says.textContent = hit.words;
    });
    return (wanted) => {
      input.value = wanted;
      input.dispatchEvent(new Event("input"));
      if (hits.length) view.centre(hits[0]);
      return hits.length > 0;
    };
  };
  // Links to spans, of the worst step if it has one. A link to none is hidden. Of each timeline one of two
  // drawings is shown: which, changes as a telephone is turned.
  const add_links = (timelines) => {
    const has = ({ view }, wanted) => view.bars.some((each) => each.words.toLowerCase().includes(wanted));
    const shown_with = (wanted) => timelines.findLast(
      (each) => each.chart.clientWidth > 0 && has(each, wanted.toLowerCase()));
    const links = document.querySelectorAll("a[data-find]");
    for (const link of links) {
      link.addEventListener("click", (event) => {
        event.preventDefault();
        const timeline = shown_with(link.dataset.find);
        timeline.find(link.dataset.find);
        timeline.chart.scrollIntoView({ block: "center" });
        timeline.chart.focus({ preventScroll: true });
      });
    }
    const hide = () => { for (const link of links) link.hidden = !shown_with(link.dataset.find); };
    hide();
    matchMedia("(max-width: 40rem)").addEventListener("change", hide);
  };
  const timelines = [];
  for (const moves of document.querySelectorAll("svg.moves")) {
    const view = view_of(moves), chart = moves.closest(".chart");
    const bar = document.createElement("div"), says = document.createElement("p");
    const is_small = chart.matches(".telephone"), room = is_small ? "telephone" : "desk";
    bar.className = `zoom ${room}`;
    says.className = `says ${room}`;
    says.ariaLive = "polite";
    says.textContent = is_small
      ? "Touch a span to read what it is. The buttons zoom; then a finger moves the drawing sideways."
      : "Click a span to read what it is. The wheel, +, \u2212 and arrows work after a click.";
    if (is_small) {
      chart.tabIndex = 0;
      chart.role = "group";
      chart.ariaLabel = chart.parentNode.querySelector(".chart.desk").ariaLabel;
    }
    chart.before(bar);
    chart.after(says);
    add_keys(view, chart, bar);
    add_pointer(view, chart);
    timelines.push({ view, chart, find: add_search(view, bar, says) });
    chart.addEventListener("click", (event) => {
      const words = event.target.closest("rect")?.textContent ?? view.nearest(event)?.words;
      if (words) says.textContent = words;
    });
  }
  add_links(timelines);
})();
