// Processes of one name have one colour.
const NAMES = [...new Set((run?.programs ?? []).map((one) => one.name))];
const colourOf = (program) => colour(NAMES.indexOf(run.programs[program].name));

// Lanes: a row a cache, in it the threads that were there; and the ways of each cache over time.
const placeName = (id) => {
  const llc = run.llcs.find((one) => one.id === id);
  return llc ? `LLC ${id} (node ${llc.nodes.join(", ")})` : `node ${id}`;
};

// Stays as {from, to, place, lane} of one thread within the run.
function stays(lane) {
  return lane.stays.map(([from, place], at) => ({ from, to: lane.stays[at + 1]?.[0] ?? whole.to, place, lane })).filter((stay) => stay.place !== null);
}

// Puts stays of one place into as few rows as hold them side by side.
function packed(all) {
  const ends = [];
  for (const stay of [...all].sort((a, b) => a.from - b.from)) {
    let row = ends.findIndex((end) => end <= stay.from + 1e-9);
    if (row < 0) row = ends.push(0) - 1;
    ends[row] = stay.to;
    stay.row = row;
  }
  return ends.length;
}

function threadLanes() {
  const places = run.llcs.length ? run.llcs.map((llc) => llc.id) : run.nodes.map((node) => node.id);
  const everything = run.lanes.flatMap(stays);
  const rows = places.map((place) => {
    const here = everything.filter((stay) => stay.place === place);
    return { place, here, count: packed(here) };
  });
  const thick = everything.length > 0 ? Math.max(2, Math.min(9, Math.floor(520 / rows.reduce((sum, row) => sum + Math.max(row.count, 1), 0)))) : 6;
  const box = make("div", { class: "chart" });
  watch(() => {
    const tall = rows.reduce((sum, row) => sum + Math.max(row.count, 2) * thick + 20, 0);
    const svg = draw("svg", { viewBox: `0 0 ${wide()} ${tall + 18}`, role: "img", "aria-label": `Where ${run.lanes.length} threads ran` });
    const x = place(wide(), 4);
    let top = 0;
    for (const row of rows) {
      svg.append(draw("text", { x: 2, y: top + 11 }, placeName(row.place)));
      const clip = row.here.filter((stay) => stay.to > span.from && stay.from < span.to);
      for (const stay of clip) {
        const a = x(Math.max(stay.from, span.from)), b = x(Math.min(stay.to, span.to));
        const program = run.programs[stay.lane.program];
        const faded = span.program !== null && span.program !== stay.lane.program;
        const bar = draw("rect", { x: a.toFixed(1), y: top + 15 + stay.row * thick, width: Math.max(0.8, b - a).toFixed(1), height: Math.max(1, thick - 1), fill: colourOf(stay.lane.program), opacity: faded ? 0.12 : 0.9 });
        bar.append(draw("title", {}, `${program.name} (process ${program.pid}, thread ${stay.lane.tid}) on ${placeName(row.place)}, ${seconds(stay.from)} to ${seconds(stay.to)}`));
        bar.addEventListener("click", () => look({ program: span.program === stay.lane.program ? null : stay.lane.program }));
        svg.append(bar);
      }
      top += Math.max(row.count, 2) * thick + 20;
      svg.append(draw("line", { class: "axis", x1: 0, x2: wide(), y1: top - 2, y2: top - 2 }));
    }
    timeAxis(svg, x, wide(), tall + 12);
    box.replaceChildren(svg, legend(NAMES.map((name, at) => [name, at])));
  });
  return box;
}

function wayBars(llc) {
  const box = make("div", { class: "chart" });
  const names = [...new Set(llc.divisions.flatMap((division) => division.clusters.map(([name]) => name)))];
  watch(() => {
    const { svg, x, y } = frame(SMALL, 100, llc.ways || 1, `Ways of LLC ${llc.id} over time`, (value) => value.toFixed(0));
    llc.divisions.forEach((division, at) => {
      const from = Math.max(division.seconds, span.from), to = Math.min(llc.divisions[at + 1]?.seconds ?? whole.to, span.to);
      if (to <= from) return;
      for (const [name, first, ways, programs] of division.clusters) {
        const bar = draw("rect", { x: x(from).toFixed(1), width: (x(to) - x(from)).toFixed(1), y: y(first + ways).toFixed(1), height: (y(first) - y(first + ways)).toFixed(1), fill: colour(names.indexOf(name)), opacity: 0.75, stroke: "var(--paper)" });
        bar.append(draw("title", {}, `${name}: ways ${first} to ${first + ways - 1}, ${programs.join(", ")}`));
        svg.append(bar);
      }
    });
    box.replaceChildren(make("h3", { text: `LLC ${llc.id}` }), svg, legend(names.map((name, at) => [name, at])));
  });
  return box;
}
