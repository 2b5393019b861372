// A static study: algorithms side by side, clusters and ways drawn for each cache.
const workloads = [...new Set(data.rows.map((row) => row.workload))];
const algorithms = [...new Set(data.rows.map((row) => row.algorithm))];
const nameOf = (workload) => `${workload}: ${shortened(data.rows.find((row) => row.workload === workload).apps.map((app) => app.name).join(", "), 60)}`;
let looked = 0;
const shown = () => data.rows.filter((row) => row.workload === workloads[looked]);
const known = (row) => (row.problem ? `no answer: ${row.problem}` : row.proved_optimal ? "proved: nothing is better" : isNumber(row.gap_percent) ? `at most ${figure(row.gap_percent, 1)} % from the best` : "not a search: no proof");
const chooseWorkload = (row) => { looked = workloads.indexOf(row.workload); document.getElementById("choice").value = looked; look({}); };

section("answers", "Answers", "Unfairness: greatest slowdown over the least, 1 is fair. STP: sum of speeds against alone. ANTT: mean slowdown. CoV: spread of the slowdowns over their mean. Click a row (or press Enter) to draw it below.",
  table("Answers by workload and algorithm", [
    { title: "workload", number: true, value: (row) => row.workload, show: (row) => String(row.workload) },
    { title: "algorithm", value: (row) => row.algorithm, show: (row) => row.algorithm, whole: true },
    { title: "unfairness", number: true, value: (row) => row.unfairness, show: (row) => figure(row.unfairness, 3), note: "less is better" },
    { title: "STP", number: true, value: (row) => row.stp, show: (row) => figure(row.stp, 3), note: "more is better" },
    { title: "ANTT", number: true, value: (row) => row.antt, show: (row) => figure(row.antt, 3), note: "less is better" },
    { title: "CoV", number: true, value: (row) => row.unfairness_cov, show: (row) => figure(row.unfairness_cov, 3), note: "less is better" },
    { title: "proved", value: known, show: known, tone: (row) => (row.problem ? "down" : row.proved_optimal ? "up" : ""), whole: true },
    { title: "took", number: true, value: (row) => row.seconds, show: (row) => (row.seconds < 0.001 ? "< 1 ms" : row.seconds < 1 ? `${(row.seconds * 1000).toFixed(0)} ms` : `${row.seconds.toFixed(1)} s`) },
    { title: "looked at", number: true, value: (row) => row.nodes_explored, show: (row) => (row.nodes_explored ? row.nodes_explored.toLocaleString("en") : dash), note: "partial solutions of a search" },
    { title: "programs", value: (row) => row.apps.length, show: (row) => row.apps.map((app) => app.name).join(", ") },
  ], () => data.rows, { sort: 0, down: false, choose: chooseWorkload, chosen: (row) => row.workload === workloads[looked], header: 1, most: 1000 }));

// The ways of one cache: a block a cluster, its programs in it.
function cache(row, llc) {
  const apps = row.apps.map((app, at) => ({ ...app, at })).filter((app) => app.llc === llc);
  const clusters = [...new Set(apps.map((app) => app.cluster))].sort((a, b) => a - b);
  const across = 560, most = Math.max(...clusters.map((cluster) => apps.filter((app) => app.cluster === cluster).length), 1), tall = 26 + most * 14;
  const svg = draw("svg", { viewBox: `0 0 ${across} ${tall}`, role: "img", "aria-label": `${row.algorithm}, LLC ${llc}: ${clusters.map((cluster) => { const of = apps.filter((app) => app.cluster === cluster); return `${of[0].ways} ways for ${of.map((app) => app.name).join(", ")}`; }).join("; ")}` });
  const x = (way) => (way / row.ways) * across;
  const unnamed = [];
  let first = 0;
  for (const cluster of clusters) {
    const of = apps.filter((app) => app.cluster === cluster), ways = of[0].ways ?? 0;
    const from = isNumber(of[0].first_way) ? of[0].first_way : first;
    const block = draw("rect", { class: "cluster", x: x(from), width: x(ways), y: 0, height: tall, fill: colour(cluster) });
    block.append(draw("title", {}, `ways ${from} to ${from + ways - 1}: ${of.map((app) => `${app.name} ${figure(app.slowdown)}\u00d7`).join(", ")}`));
    svg.append(block, draw("text", { class: "strong", x: x(from) + 5, y: 15 }, x(ways) > 46 ? `${ways} way${ways === 1 ? "" : "s"}` : String(ways)));
    const room = Math.floor((x(ways) - 8) / 6.4);
    if (of.some((app) => app.name.length > room)) unnamed.push(`${ways === 1 ? "way" : "ways"} ${from}${ways > 1 ? ` to ${from + ways - 1}` : ""}: ${of.map((app) => app.name).join(", ")}`);
    if (room >= 3) of.forEach((app, at) => svg.append(draw("text", { x: x(from) + 5, y: 31 + at * 14 }, shortened(app.name, room))));
    first = from + ways;
  }
  for (let way = 1; way < row.ways; way += 1) svg.append(draw("line", { class: "way", x1: x(way), x2: x(way), y1: 0, y2: tall }));
  const title = make("figcaption", { text: row.groups > 1 ? `LLC ${llc}, ${row.ways} ways` : `${row.ways} ways` });
  return make("figure", {}, title, svg, unnamed.length ? make("p", { class: "note", text: unnamed.join("; ") }) : null);
}

function card(row) {
  const measures = row.problem ? row.problem : `unfairness ${figure(row.unfairness, 3)}, STP ${figure(row.stp, 3)}, ANTT ${figure(row.antt, 3)}`;
  const caches = row.apps.some((app) => isNumber(app.llc)) ? Array.from({ length: row.groups }, (_, llc) => cache(row, llc)) : [];
  return make("div", { class: "card" }, make("h3", { text: row.algorithm }), make("p", { class: "note", text: `${measures}; ${row.problem ? "" : known(row)}` }), ...caches);
}

const arrangements = make("div", { class: "cards" });
watch(() => arrangements.replaceChildren(...shown().map(card)));
section("caches", "Who shares which ways", "Each block is a cluster of programs that share its ways. Colours only distinguish the blocks.",
  choice("Workload", workloads.map(nameOf), (at) => { looked = at; look({}); }), arrangements);

section("slowdowns", "Slowdown of each program", "How many times as long as alone with the whole cache, under the model; 1 is undisturbed.",
  dots("Slowdown by program and algorithm", () => (shown()[0]?.apps ?? []).map((app, at) => ({ name: app.name, points: shown().map((row) => ({ series: algorithms.indexOf(row.algorithm), value: row.apps[at]?.slowdown, title: `${row.algorithm}: ${figure(row.apps[at]?.slowdown)}\u00d7` })) })), algorithms, (value) => `${value.toFixed(2)}\u00d7`, { base: 1, least: 0.1 }));
finish();
