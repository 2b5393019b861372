// The page, from top to bottom.
document.getElementById("title").textContent = data.head.title;
document.getElementById("facts").append(...data.head.facts.map(([name, value]) => make("div", {}, make("dt", { text: name }), make("dd", { text: value }))));
document.getElementById("remarks").append(...data.head.remarks.map((text) => make("li", { text })));
range(document.getElementById("range"));

const programName = (at) => { const one = data.programs[at]; return one ? `${one.name} (${one.pid})` : dash; };
const chooseProgram = (at) => look({ program: span.program === at ? null : at });

if (data.programs.length) {
  const rows = () => data.programs.map((one, at) => ({ at, one }));
  const of = (key) => ({ one }) => mean(one[key]);
  const column = (title, key, show, note) => ({ title, number: true, note, value: of(key), show: (row) => show(of(key)(row)) });
  section("programs", "Programs", "Means over the chosen span. A row that is clicked (or Enter) is followed in all charts. Slowdown is an estimate: time by contention and distance against time alone.",
    table("Programs, the busiest", [
      { title: "program", value: ({ one }) => one.name, show: ({ one }) => one.name },
      { title: "process", number: true, value: ({ one }) => one.pid, show: ({ one }) => String(one.pid) },
      column("CPUs", "cpus", (value) => figure(value)),
      column("slowdown", "slowdown", (value) => (isNumber(value) ? `${value.toFixed(2)}\u00d7` : dash)),
      column("MPKI", "mpki", (value) => figure(value, 1), "misses of the last-level cache for 1000 instructions"),
      column("IPC", "ipc", (value) => figure(value)),
      column("bandwidth", "bandwidth", rate),
      column("remote pages", "remote", (value) => percent(value), "pages on nodes where it does not run"),
    ], rows, { sort: 3, choose: ({ at }) => chooseProgram(at), chosen: ({ at }) => at === span.program }));
}
if (data.lanes.length) section("lanes", "Where threads ran", "A row of bars a thread, by cache; a bar that ends and begins elsewhere is a move.", threadLanes());

const nodes = (key) => data.nodes.map((node) => [`node ${node.id}`, node[key]]);
if (data.nodes.length) {
  section("nodes", "Nodes", "Load is the part of what a memory controller can pass; where its bandwidth is not known, an estimate of isobar's.",
    make("div", { class: "charts" },
      lines("Load of the memory controllers", nodes("load"), (value) => percent(value), 1),
      lines("CPUs in use", nodes("busy"), (value) => percent(value), 1),
      lines("Latency of local memory", nodes("latency_ns"), (value) => (isNumber(value) ? `${value.toFixed(0)} ns` : dash))));
}
if (data.nodes.some((node) => node.pages.length)) {
  const choose = () => {
    const one = span.program !== null && data.programs[span.program].pages.length ? data.programs[span.program] : null;
    const layers = data.nodes.map((node, index) => [`node ${node.id}`, one ? one.pages[index] ?? [] : node.pages]);
    return { name: one ? programName(span.program) : "all programs that are watched", layers };
  };
  section("pages", "Where pages are", null, stacked("Resident pages by node", choose));
}
const divided = data.llcs.filter((llc) => llc.divisions.length && llc.ways);
if (divided.length) section("ways", "Cache ways", "Which cluster of programs may fill which ways.", make("div", { class: "charts" }, ...divided.map(wayBars)));
if (data.llcs.some((llc) => llc.pressure.some(isNumber))) {
  section("caches", "Pressure on the caches", "Summed misses for 1000 instructions of the threads that ran there.",
    lines("MPKI by cache", data.llcs.map((llc) => [`LLC ${llc.id}`, llc.pressure]), (value) => figure(value, 0), 0, WIDE));
}
if (data.latency.length) {
  const names = data.nodes.map((node) => ({ id: node.id, name: `node ${node.id}` }));
  const cell = (row, column) => {
    const pair = data.latency.find((one) => one.from === row.id && one.to === column.id);
    const value = pair ? mean(pair.values) : null;
    const over = pair && isNumber(pair.idle_ns) && isNumber(value) ? value / pair.idle_ns : null;
    return { text: isNumber(value) ? `${value.toFixed(0)} ns` : dash, heat: over ? (over - 1.1) / 1.5 : 0, title: over ? `${over.toFixed(2)} times the idle latency` : "" };
  };
  section("latency", "Latency between nodes", "From CPUs (rows) to memory (columns), mean of the chosen span; red where it is above the idle latency.", matrix("Latency as probed", names, names, cell));
}
if (data.harms.length) {
  const known = (key) => [...new Set(data.harms.map((one) => one[key]))].sort((a, b) => a - b).slice(0, 24).map((at) => ({ at, name: programName(at) }));
  const cell = (row, column) => {
    const gain = data.harms.find((one) => one.of === row.at && one.by === column.at)?.gain;
    return { text: isNumber(gain) ? percent(gain, 1) : "", heat: isNumber(gain) ? gain * 3 : 0, title: isNumber(gain) ? `${row.name} would be ${percent(gain, 1)} faster without ${column.name}` : "" };
  };
  section("harms", "Who harms whom", "How much faster the program of the row would be without that of the column, as isobar estimates: mean of the run.", matrix("Harm", known("of"), known("by"), cell));
}
if (data.changes.length) {
  const tone = (of) => (row) => { const value = of(row); return isNumber(value) ? (value < 0 ? "down" : "up") : ""; };
  const interval = (row) => (isNumber(row.measured) ? `${signed(row.measured)} \u00b1 ${(1.96 * row.error * 100).toFixed(1)}` : dash);
  const fate = (row) => (row.kept === null ? "not judged" : row.kept ? "stayed" : "taken back") + (row.disturbed ? ", disturbed" : "");
  const rows = () => data.changes.filter((row) => (row.seconds ?? row.judged_seconds) > span.from - 1e-9 && (row.seconds ?? row.judged_seconds) <= span.to + 1e-9).filter((row) => span.program === null || row.programs.some(([at]) => at === span.program));
  section("changes", "Predicted and measured", "Gains are sums over programs: 10 % is one program that is 10 % faster. The interval holds the true gain in 95 of 100 cases. Disturbed: programs came or went meanwhile.",
    table("Changes", [
      { title: "change", number: true, value: (row) => row.change, show: (row) => String(row.change) },
      { title: "made", number: true, value: (row) => row.seconds, show: (row) => seconds(row.seconds) },
      { title: "predicted", number: true, value: (row) => row.predicted, show: (row) => signed(row.predicted), tone: tone((row) => row.predicted) },
      { title: "measured, 95 %", number: true, value: (row) => row.measured, show: interval, tone: tone((row) => row.measured) },
      { title: "outcome", value: fate, show: fate },
      { title: "programs: predicted, measured", value: (row) => row.programs.length, show: (row) => row.programs.map(([at, a, b]) => `${programName(at)} ${signed(a)}, ${signed(b)}`).join("; ") },
    ], rows, { sort: 0, down: false }));
}
if (data.actions.length) {
  const rows = () => data.actions.filter((row) => row.seconds > span.from - 1e-9 && row.seconds <= span.to + 1e-9).filter((row) => span.program === null || row.programs.includes(span.program));
  section("actions", "Every action, with its reason", null,
    table("Actions", [
      { title: "at", number: true, value: (row) => row.seconds, show: (row) => seconds(row.seconds) },
      { title: "program", value: (row) => row.programs.map(programName).join(", "), show: (row) => row.programs.map(programName).join(", ") },
      { title: "action", value: (row) => row.words, show: (row) => row.words },
      { title: "reason", value: (row) => row.reason, show: (row) => row.reason },
      { title: "what became of it", value: (row) => row.became, show: (row) => row.became || "not carried out" },
    ], rows, { sort: 0, down: false, most: 400 }));
}
if (data.notes.length) {
  section("notes", "Notes", null, table("What policies had to say", [
    { title: "first in epoch", number: true, value: (row) => row.epoch, show: (row) => String(row.epoch) },
    { title: "times", number: true, value: (row) => row.times, show: (row) => String(row.times) },
    { title: "note", value: (row) => row.text, show: (row) => row.text },
  ], () => data.notes, { sort: 0, down: false, most: 200 }));
}
if (data.gaps.length) section("gaps", "Not measured", null, make("ul", {}, ...data.gaps.map(([what, why]) => make("li", { text: `${what}: ${why}` }))));

document.getElementById("left-out").textContent = data.left_out.length ? `Not in this page: ${data.left_out.join(", ")}.` : "";
document.getElementById("save").addEventListener("click", () => {
  const link = make("a", { href: URL.createObjectURL(new Blob([JSON.stringify(data, null, 1)], { type: "application/json" })), download: "isobar-report.json" });
  link.click();
});
