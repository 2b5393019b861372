// Tables that sort and filter, and matrices coloured by value.

// `columns`: {title, value(row), show(row), number, note, wide (prose), whole (in one line)}; `rows()` is asked anew for each span.
function table(caption, columns, rows, options = {}) {
  let sorted = { column: options.sort ?? 0, down: options.down ?? true };
  const head = make("tr"), body = make("tbody");
  const filter = make("input", { type: "search", placeholder: "filter", "aria-label": `Filter: ${caption}`, oninput: () => fill() });
  const count = make("span", { "aria-live": "polite" });
  columns.forEach((column, at) => {
    const sort = () => { sorted = { column: at, down: sorted.column === at ? !sorted.down : Boolean(column.number) }; fill(); };
    head.append(make("th", { scope: "col", class: column.number ? "n" : null, title: column.note }, make("button", { type: "button", text: column.title, onclick: sort })));
  });
  function fill() {
    const wanted = filter.value.toLowerCase();
    const text = (row) => columns.map((column) => column.show(row)).join(" ").toLowerCase();
    const found = rows().filter((row) => !wanted || text(row).includes(wanted));
    const { column, down } = sorted;
    const rank = (row) => columns[column].value(row);
    found.sort((a, b) => {
      const [one, other] = [rank(a), rank(b)];
      if (one === other) return 0;
      if (one === null || one === undefined) return 1;
      if (other === null || other === undefined) return -1;
      return (one < other ? -1 : 1) * (down ? -1 : 1);
    });
    [...head.children].forEach((cell, at) => { if (at === column) cell.setAttribute("aria-sort", down ? "descending" : "ascending"); else cell.removeAttribute("aria-sort"); });
    const shown = found.slice(0, options.most ?? 500);
    count.textContent = shown.length < found.length ? `${shown.length} of ${found.length} rows` : `${found.length} rows`;
    body.replaceChildren(...shown.map((row) => line(row)));
  }
  function line(row) {
    const cell = (column, at) => make(at === (options.header ?? 0) ? "th" : "td", { scope: at === (options.header ?? 0) ? "row" : null, class: [column.number ? "n" : "", column.wide ? "wide" : "", column.whole ? "whole" : "", column.tone?.(row) ?? ""].join(" ").trim() || null, text: column.show(row) });
    const choose = options.choose && (() => options.choose(row));
    const attributes = choose ? { tabindex: 0, onclick: choose, onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(); } } } : {};
    const made = make("tr", attributes, ...columns.map(cell));
    if (options.chosen?.(row)) { made.classList.add("chosen"); made.setAttribute("aria-selected", "true"); }
    return made;
  }
  watch(fill);
  const tools = make("div", { class: "tools" }, filter, count);
  return make("div", {}, tools, make("div", { class: options.whole ? "scroll whole" : "scroll", tabindex: 0, role: "region", "aria-label": caption }, make("table", {}, make("caption", { text: caption }), make("thead", {}, head), body)));
}

// A matrix: `cell(row, column)` gives {text, heat (0 to 1), good, title}.
function matrix(caption, rows, columns, cell) {
  const box = make("div", { class: "heat scroll", tabindex: 0, role: "region", "aria-label": caption });
  watch(() => {
    const head = make("tr", {}, make("td"), ...columns.map((column) => make("th", { scope: "col", class: "n", text: column.name })));
    const line = (row) => make("tr", {}, make("th", { scope: "row", text: row.name }), ...columns.map((column) => {
      const { text, heat, title, good } = cell(row, column);
      const shade = heat > 0 ? `background:color-mix(in srgb, var(${good ? "--good" : "--bad"}) ${Math.round(Math.min(heat, 1) * 62)}%, transparent)` : null;
      return make("td", { style: shade, title, text });
    }));
    box.replaceChildren(make("table", {}, make("caption", { text: caption }), make("thead", {}, head), make("tbody", {}, ...rows.map(line))));
  });
  return box;
}
