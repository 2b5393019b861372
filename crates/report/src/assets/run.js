// A run over time, from top to bottom: programs, where threads and pages were, what was done.
const programName = (at) => { const one = run.programs[at]; return one ? `${one.name} (${one.pid})` : dash; };
const chooseProgram = (at) => look({ program: span.program === at ? null : at });
const inSpan = (time) => time > span.from - 1e-9 && time <= span.to + 1e-9;

// Latency of each pair over time: a strip a pair, red where it is above the idle latency.
const PAIRS = 64;
function latencyStrips() {
  const over = (pair, at) => { const value = pair.values[at]; return isNumber(value) && isNumber(pair.idle_ns) && pair.idle_ns > 0 ? value / pair.idle_ns : null; };
  const worst = (pair) => Math.max(...pair.values.map((_, at) => over(pair, at) ?? 0));
  const kept = [...run.latency].sort((a, b) => worst(b) - worst(a)).slice(0, PAIRS).sort((a, b) => a.from - b.from || a.to - b.to);
  const span0 = times.length ? (times.at(-1) - whole.from) / times.length : 1;
  const name = (pair) => `node ${pair.from} \u2192 ${pair.to}`;
  const tall = () => (kept.length > 32 ? 8 : kept.length > 16 ? 12 : 16);
  const most = Math.max(...kept.map(worst));
  return heatmap({
    title: `Over time: one strip for each pair${kept.length < run.latency.length ? `, the ${kept.length} that rose most` : ""}`,
    label: `Latency of ${kept.length} pairs of nodes over time; the highest is ${most.toFixed(2)} times the idle latency`,
    rows: kept.length, columns: times.length, seconds: span0, origin: whole.from, left: () => (narrow() ? 84 : 96), tall,
    colour: (at, row) => { const value = over(kept[row], at); return value === null ? null : { colour: value <= 1.1 ? "#5aa97a" : "#d9480f", alpha: value <= 1.1 ? 0.3 : 0.2 + 0.8 * Math.min(1, (value - 1.1) / 1.5) }; },
    describe: (at, row) => { const [pair, value] = [kept[row], over(kept[row], at)]; return `${name(pair)}, until ${seconds(times[at])}: ${isNumber(pair.values[at]) ? `${pair.values[at].toFixed(0)} ns` : "not probed"}${value === null ? "" : `, ${value.toFixed(2)} times idle`}`; },
    labels: () => kept.map((pair, row) => ({ row, down: tall() - 4, text: name(pair), line: row > 0 && kept[row - 1].from !== pair.from })).filter((_, row) => tall() >= 10 || row % 2 === 0),
    hint: "Point at a strip, or focus it and use the arrow keys.",
    legend: () => make("p", { class: "note", text: "Green: as on the idle machine. Redder is slower, up to 2.6 times idle and more." }),
  });
}

function showRun() {
  const loaded = run.nodes.some((node) => node.load.some(isNumber));
  range(document.getElementById("range"), loaded ? "Load of the memory controllers" : "CPUs in use", run.nodes.map((node) => (node.load.some(isNumber) ? node.load : node.busy)));
  if (run.programs.length) {
    const rows = () => run.programs.map((one, at) => ({ at, one }));
    const of = (key) => ({ one }) => mean(one[key]);
    const column = (title, key, show, note) => ({ title, number: true, note, value: of(key), show: (row) => show(of(key)(row)) });
    section("programs", "Programs", "Means over the chosen span. Click a row (or press Enter) to follow it in all charts. Slowdown is an estimate: time with contention and remote memory divided by time alone.",
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
  if (run.lanes.length) section("lanes", "Where threads ran", "One row of bars for each thread, by cache; a bar that ends and begins elsewhere is a move.", threadLanes());

  const nodes = (key) => run.nodes.map((node) => [`node ${node.id}`, node[key]]);
  if (run.nodes.length) {
    section("nodes", "Nodes", "Load is the used part of a memory controller's bandwidth; if the bandwidth is not known, isobar estimates it.",
      make("div", { class: "charts" },
        lines("Load of the memory controllers", nodes("load"), (value) => percent(value), 1),
        lines("CPUs in use", nodes("busy"), (value) => percent(value), 1),
        lines("Latency of local memory", nodes("latency_ns"), (value) => (isNumber(value) ? `${value.toFixed(0)} ns` : dash))));
  }
  if (run.nodes.some((node) => node.pages.length)) {
    const choose = () => {
      const one = span.program !== null && run.programs[span.program].pages.length ? run.programs[span.program] : null;
      const layers = run.nodes.map((node, index) => [`node ${node.id}`, one ? one.pages[index] ?? [] : node.pages]);
      return { name: one ? programName(span.program) : "all programs that are watched", layers };
    };
    section("pages", "Where pages are", null, stacked("Resident pages by node", choose));
  }
  const divided = run.llcs.filter((llc) => llc.divisions.length && llc.ways);
  if (divided.length) section("ways", "Cache ways", "Which cluster of programs may fill which ways.", make("div", { class: "charts" }, ...divided.map(wayBars)));
  if (run.llcs.some((llc) => llc.pressure.some(isNumber))) {
    section("caches", "Pressure on the caches", "Summed misses for 1000 instructions of the threads that ran there.",
      lines("MPKI by cache", run.llcs.map((llc) => [`LLC ${llc.id}`, llc.pressure]), (value) => figure(value, 0), 0, wide));
  }
  if (run.latency.length) {
    const names = run.nodes.map((node) => ({ id: node.id, name: `node ${node.id}` }));
    const cell = (row, column) => {
      const pair = run.latency.find((one) => one.from === row.id && one.to === column.id);
      const value = pair ? mean(pair.values) : null;
      const over = pair && isNumber(pair.idle_ns) && isNumber(value) ? value / pair.idle_ns : null;
      return { text: isNumber(value) ? `${value.toFixed(0)} ns` : dash, heat: over ? (over - 1.1) / 1.5 : 0, title: over ? `${over.toFixed(2)} times the idle latency` : "" };
    };
    section("latency", "Latency between nodes", "From CPUs (rows) to memory (columns), mean of the chosen span; red where it is above the idle latency.", matrix("Latency as probed", names, names, cell), latencyStrips());
  }
  if (run.harms.length) {
    const known = (key) => [...new Set(run.harms.map((one) => one[key]))].sort((a, b) => a - b).slice(0, 24).map((at) => ({ at, name: programName(at) }));
    const cell = (row, column) => {
      const gain = run.harms.find((one) => one.of === row.at && one.by === column.at)?.gain;
      return { text: isNumber(gain) ? percent(gain, 1) : "", heat: isNumber(gain) ? gain * 3 : 0, title: isNumber(gain) ? `${row.name} would be ${percent(gain, 1)} faster without ${column.name}` : "" };
    };
    section("harms", "Who harms whom", "How much faster the program of the row would be without that of the column, as isobar estimates: mean of the run.", matrix("Harm", known("of"), known("by"), cell));
  }
  if (run.changes.length) {
    const tone = (of) => (row) => { const value = of(row); return isNumber(value) ? (value < 0 ? "down" : "up") : ""; };
    const interval = (row) => (isNumber(row.measured) ? `${signed(row.measured)} \u00b1 ${(1.96 * row.error * 100).toFixed(1)}` : dash);
    const fate = (row) => (row.kept === null ? "not judged" : row.kept ? "stayed" : "taken back") + (row.disturbed ? ", disturbed" : "");
    const rows = () => run.changes.filter((row) => (row.seconds ?? row.judged_seconds) > span.from - 1e-9 && (row.seconds ?? row.judged_seconds) <= span.to + 1e-9).filter((row) => span.program === null || row.programs.some(([at]) => at === span.program));
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
  if (run.actions.length) {
    const rows = () => run.actions.filter((row) => row.seconds > span.from - 1e-9 && row.seconds <= span.to + 1e-9).filter((row) => span.program === null || row.programs.includes(span.program));
    section("actions", "Every action, with its reason", null,
      table("Actions", [
        { title: "at", number: true, value: (row) => row.seconds, show: (row) => seconds(row.seconds) },
        { title: "program", value: (row) => row.programs.map(programName).join(", "), show: (row) => row.programs.map(programName).join(", ") },
        { title: "action", value: (row) => row.words, show: (row) => row.words },
        { title: "reason", value: (row) => row.reason, show: (row) => row.reason },
        { title: "result", value: (row) => row.became, show: (row) => row.became || "not carried out" },
      ], rows, { sort: 0, down: false, most: 400 }));
  }
  if (run.notes.length) {
    section("notes", "Notes", null, table("Notes of the policies", [
      { title: "first in epoch", number: true, value: (row) => row.epoch, show: (row) => String(row.epoch) },
      { title: "times", number: true, value: (row) => row.times, show: (row) => String(row.times) },
      { title: "note", value: (row) => row.text, show: (row) => row.text },
    ], () => run.notes, { sort: 0, down: false, most: 200 }));
  }
  if (run.gaps.length) section("gaps", "Not measured", null, make("ul", {}, ...run.gaps.map(([what, why]) => make("li", { text: `${what}: ${why}` }))));
}
