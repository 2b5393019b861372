// A page trace: which thread or node accesses which address when, and where pages should be.
const usage = data.usage, heat = data.heat;
const whole100 = (value) => (isNumber(value) ? `${value.toFixed(0)} %` : dash);
const tenth = (value) => (isNumber(value) ? value.toFixed(1) : dash);
const many = (value) => (isNumber(value) ? (value >= 1e9 ? `${(value / 1e9).toFixed(1)} billion` : value >= 1e6 ? `${(value / 1e6).toFixed(1)} million` : value.toLocaleString("en")) : dash);
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const size = (pages) => { const bytes = pages * usage.page_bytes; return bytes >= 2 ** 30 ? `${(bytes / 2 ** 30).toFixed(1)} GiB` : bytes >= 2 ** 20 ? `${(bytes / 2 ** 20).toFixed(1)} MiB` : `${(bytes / 1024).toFixed(0)} KiB`; };

if (heat) {
  range(document.getElementById("range"), "Accesses", [data.accesses.map((value) => value / Math.max(1, ...data.accesses))]);
  let layer = heat.layers[0], only = null;
  // Cells by column and row: accesses, and for each layer who makes most of them and which part.
  const cells = heat.cells.map((column) => new Map(column.map(([row, accesses, ...by]) => [row, { accesses, by }])));
  const most = Math.max(1, ...heat.cells.flatMap((column) => column.map(([, accesses]) => accesses)));
  const at = (column, row) => cells[column]?.get(row);
  const who = (cell) => { const index = heat.layers.indexOf(layer); return { name: cell.by[2 * index], percent: cell.by[2 * index + 1] }; };
  const bands = heat.bands, structure = (row) => heat.structures[bands[row].structure] ?? "unknown";
  const hex = (address) => `0x${BigInt(address).toString(16)}`;
  const ink = (column, row) => {
    const cell = at(column, row);
    if (!cell || (only !== null && bands[row].structure !== only)) return null;
    const { name, percent } = who(cell);
    const even = 100 / layer.names.length, own = Math.max(0, (percent - even) / (100 - even || 1));
    const tint = layer.names.length > 1 && own < 0.75 ? `color-mix(in srgb, ${colour(name)} ${Math.round(25 + 100 * own)}%, #8b949e)` : colour(name);
    return { colour: tint, alpha: 0.22 + 0.78 * (Math.log1p(cell.accesses) / Math.log1p(most)) };
  };
  const describe = (column, row) => {
    const cell = at(column, row), band = bands[row];
    const where = `${structure(row)}, ${hex(band.address)} (${band.pages} page${band.pages === 1 ? "" : "s"}), ${(column * heat.column_seconds).toFixed(3)} s`;
    if (!cell) return `${where}: no access.`;
    const { name, percent } = who(cell);
    return `${where}: ${many(cell.accesses)} accesses, ${percent} % by ${layer.names[name]}.`;
  };
  const runs = [];
  bands.forEach((band, row) => { const last = runs.at(-1); if (last?.structure === band.structure) last.rows += 1; else runs.push({ structure: band.structure, row, rows: 1 }); });
  const tall = () => Math.min(12, Math.max(3, Math.floor((narrow() ? 300 : 460) / bands.length)));
  const left = () => (narrow() ? 110 : 190);
  const labels = () => {
    let free = -Infinity;
    const found = [];
    for (const one of runs) {
      const middle = (one.row + one.rows / 2) * tall() + 4, y = Math.max(middle, free + 12);
      const fits = one.rows * tall() >= 9 || y - middle < 6;
      if (fits) { found.push({ row: one.row, down: y - one.row * tall(), text: shortened(heat.structures[one.structure] ?? "", narrow() ? 15 : 27), line: true }); free = y; }
    }
    return found;
  };
  const strip = () => bands.map((band, row) => ({ row, rows: 1, colour: colour(band.first[heat.layers.indexOf(layer)]), title: `${structure(row)}: most of these pages first touched by ${layer.names[band.first[heat.layers.indexOf(layer)]]}${isNumber(band.first_seconds) ? ` from ${band.first_seconds.toFixed(3)} s on` : ""}` }));
  const redraw = () => look({});
  const tools = make("div", { class: "tools" },
    ...(heat.layers.length > 1 ? [make("label", { for: "layer", text: "coloured by" }), make("select", { id: "layer", onchange: (event) => { layer = heat.layers[Number(event.target.value)]; redraw(); } }, ...heat.layers.map((one, index) => make("option", { value: index, text: one.name })))] : []),
    make("label", { for: "structure", text: "show" }), make("select", { id: "structure", onchange: (event) => { only = event.target.value === "" ? null : Number(event.target.value); redraw(); } }, make("option", { value: "", text: "all memory" }), ...[...new Set(runs.map((one) => one.structure))].map((index) => make("option", { value: index, text: heat.structures[index] ?? "unknown" }))));
  const map = heatmap({
    label: `Accesses by address and time, coloured by ${layer.name}: ${bands.length} ranges of addresses, ${runs.length} structures`,
    rows: bands.length, columns: cells.length, seconds: heat.column_seconds, left, tall, colour: ink, describe, labels, strip,
    hint: "Point at a cell, or focus the map and use the arrow keys.",
    legend: () => legend(layer.names.map((name, index) => [name, index])),
  });
  section("heat", "Who accesses what, and when", `Addresses downwards, time to the right. Colour: the ${heat.layers.map((one) => one.name).join(" or ")} with most of the accesses, greyer if several share them, stronger if there are more accesses. All rows hold about the same number of pages. The strip at the left is coloured by first touch.`, tools, map);
  section("course", "Over time", null, make("div", { class: "charts" },
    lines("Exclusivity: accesses from a page's main node", [["exclusivity", data.exclusivity]], (value) => percent(value), 1),
    lines("Accesses", [["accesses", data.accesses]], (value) => (isNumber(value) ? compact.format(value) : dash)),
    lines("Pages whose main node changes", [["pages", data.migrations]], (value) => figure(value, 0), 1)));
}

if (usage.structures.length) {
  const words = { exclusive: "by one node", mostly_exclusive: "nearly by one node", shared: "by several nodes", unused: "not used" };
  const nodes = usage.nodes > 1;
  const first = (row) => { const all = row.first_touch.reduce((sum, one) => sum + one.pages, 0); return row.first_touch.slice(0, 3).map((one) => `T${one.thread} ${one.pages / all < 0.01 ? "< 1 %" : whole100((one.pages / all) * 100)}`).join(", ") + (row.first_touch.length > 3 ? `, ${row.first_touch.length - 3} more` : ""); };
  section("structures", "By structure", "What the program's memory is used for. Exclusivity: the part of the accesses that comes from the node with most of them.",
    table("Structures", [
      { title: "structure", value: (row) => row.name, show: (row) => row.name },
      { title: "where it is made", value: (row) => row.line ?? "", show: (row) => row.line ?? dash },
      { title: "pages", number: true, value: (row) => row.pages, show: (row) => `${row.pages.toLocaleString("en")} (${size(row.pages)})` },
      { title: "accesses", number: true, value: (row) => row.accesses_percent, show: (row) => (isNumber(row.accesses_percent) ? `${row.accesses_percent.toFixed(1)} %` : dash) },
      ...(nodes ? [{ title: "used", value: (row) => row.sharing, show: (row) => words[row.sharing] ?? row.sharing },
        { title: "exclusivity", number: true, value: (row) => row.exclusivity, show: (row) => percent(row.exclusivity) }] : []),
      { title: "first touched by", value: first, show: first },
      ...(nodes ? [{ title: "remote, first touch", number: true, value: (row) => row.first_touch_remote_percent, show: (row) => whole100(row.first_touch_remote_percent), tone: (row) => (row.first_touch_remote_percent >= 50 ? "down" : "") }] : []),
    ], () => usage.structures, { sort: 3 }));
}

if (usage.nodes > 1) {
  const rows = Object.entries(usage.policies).map(([name, figures]) => ({ name, ...figures }));
  if (usage.linux) rows.push({ name: "linux (observed)", ...usage.linux });
  const column = (title, key, note) => ({ title, number: true, note, value: (row) => row[key], show: (row) => tenth(row[key]) });
  section("mappings", "Where pages could be", `Rules that place pages on nodes, side by side${usage.advice.policy ? `; ${usage.advice.policy} suits this program` : ""}. Imbalance: by how much the node with most is above the mean. Best node: the one that accesses the page most.${usage.linux ? "" : ` What Linux did is not known: ${usage.linux_missing}`}`,
    table("Mappings of pages to nodes, in per cent", [
      { title: "mapping", value: (row) => row.name, show: (row) => (row.name === usage.advice.policy ? `${row.name} \u2605 suits` : row.name) },
      column("remote accesses", "remote_percent", "accesses from another node than that of their page: less is better"),
      column("imbalance of accesses", "b_acc", "0 is even"),
      column("imbalance of pages", "b_pages", "0 is even"),
      column("pages on their best node", "loc_pages", "more is better"),
      column("accesses to such pages", "loc_app", "more is better"),
    ], () => rows, { sort: 1, down: false, chosen: (row) => row.name === usage.advice.policy }));
}
if (usage.advice.steps.length) section("steps", "What to do", null, make("ol", {}, ...usage.advice.steps.map((step) => make("li", {}, step.what, step.command ? make("pre", { text: step.command }) : null))));
finish();
