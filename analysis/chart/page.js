"use strict";
// Tables are sorted by the buttons that are put into their headings here, and long ones get a filter.
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
})();
