// A simulation: policies compared on one workload or several, and one run over time.
let looked = 0;
const compared = () => data.workloads[looked];
const points = (value) => (isNumber(value) ? `${value < 0 ? "\u2212" : "+"}${Math.abs(value).toFixed(1)} %` : dash);
const plusMinus = (spread, digits) => (isNumber(spread?.half_width_95) && spread.half_width_95 > 0 ? ` \u00b1 ${spread.half_width_95.toFixed(digits)}` : "");
const repeats = data.workloads.some((one) => one.repeat > 1);
const interval = repeats ? " \u00b1: 95 % confidence interval of the mean, from the runs with different seeds." : " One run each: how far these figures vary is not known; --repeat 3 shows it.";
const tone = (of) => (row) => { const value = of(row); return isNumber(value) && Math.abs(value) >= 0.05 ? (value < 0 ? "down" : "up") : ""; };

if (data.workloads.length > 1) {
  const policies = data.across[0]?.cells.map((cell) => ({ name: cell.policy })) ?? [];
  const rows = [...data.across.map((one) => ({ name: one.workload, cells: one.cells })), { name: "all workloads", cells: data.all }];
  const cell = (row, column) => {
    const found = row.cells.find((one) => one.policy === column.name);
    const mean = found?.mean_percent;
    return { text: points(mean), heat: isNumber(mean) ? Math.abs(mean) / 40 : 0, good: mean > 0, title: found ? `worst: ${found.worst_app ?? found.worst_workload} ${points(found.worst_percent)}` : "" };
  };
  section("across", "Gain over stock Linux, by workload", "Mean over the programs of a workload of how much shorter they run than under the policy linux; below 0 they run longer. Point at a figure for the program that fares worst.", matrix("Policies by workload", rows, policies, cell));
  sections.append(choice("Figures below are of the workload", data.workloads.map((one) => one.name), (at) => { looked = at; look({}); }));
}

section("policies", "Policies", `Means over the runs.${interval} Unfairness: greatest slowdown of a program over the least, 1 is fair. STP: sum of speeds against alone. ANTT: mean slowdown. CoV: spread of the slowdowns over their mean.`,
  table("Policies compared", [
    { title: "policy", value: (row) => row.policy, show: (row) => row.policy },
    { title: "vs linux", number: true, value: (row) => row.vs_linux_percent, show: (row) => points(row.vs_linux_percent) + plusMinus(row.spread?.vs_linux_percent, 1), tone: tone((row) => row.vs_linux_percent), note: "how much shorter its programs run than under linux, on the mean" },
    { title: "ANTT", number: true, value: (row) => row.antt, show: (row) => figure(row.antt, 3) + plusMinus(row.spread?.antt, 3), note: "mean slowdown: less is better" },
    { title: "unfairness", number: true, value: (row) => row.unfairness, show: (row) => figure(row.unfairness, 3) + plusMinus(row.spread?.unfairness, 3), note: "less is better" },
    { title: "CoV", number: true, value: (row) => row.unfairness_cov, show: (row) => figure(row.unfairness_cov, 3), note: "less is better" },
    { title: "STP", number: true, value: (row) => row.stp, show: (row) => figure(row.stp, 2) + plusMinus(row.spread?.stp, 2), note: "more is better" },
    { title: "threads moved", number: true, value: (row) => row.thread_migrations, show: (row) => figure(row.thread_migrations, 1) },
    { title: "memory moved", number: true, value: (row) => row.memory_migrations, show: (row) => figure(row.memory_migrations, 1), note: "times that a program's memory was moved" },
    { title: "pages moved", number: true, value: (row) => row.pages_moved, show: (row) => figure(row.pages_moved, 0) },
    { title: "seconds", number: true, value: (row) => row.seconds, show: (row) => figure(row.seconds, 0), note: "simulated" },
  ], () => compared().policies, { sort: 1 }));

const withSpread = (value, spread) => ({ value, low: repeats && isNumber(spread?.min) ? spread.min : null, high: repeats && isNumber(spread?.max) ? spread.max : null });
if (data.workloads.some((one) => one.policies.some((row) => isNumber(row.vs_linux_percent)))) {
  const rows = () => compared().policies.filter((row) => row.policy !== "linux").map((row) => ({ name: row.policy, points: [{ series: 0, ...withSpread(row.vs_linux_percent, row.spread?.vs_linux_percent), title: points(row.vs_linux_percent) }] }));
  section("gain", "Gain over stock Linux", repeats ? "The line through a dot goes from the worst run to the best." : null, dots("Mean gain of each policy over linux", rows, [""], points));
}

const MOST = 40;
const slowdownRows = () => {
  const names = compared().policies[0]?.apps.map((app) => app.name) ?? [];
  const of = (name) => compared().policies.map((row, series) => ({ row, series, app: row.apps.find((app) => app.name === name) })).filter(({ app }) => app);
  const worst = (name) => Math.max(...of(name).map(({ app }) => app.slowdown));
  return names.map((name) => ({ name, worst: worst(name), points: of(name).map(({ row, series, app }) => ({ series, ...withSpread(app.slowdown, app.slowdown_spread), title: `${row.policy}: ${figure(app.slowdown)}\u00d7` })) }));
};
section("slowdowns", "Slowdown of each program", `How many times as long as alone on the machine; 1 is undisturbed.${repeats ? " The line through a dot goes from the least to the greatest of the runs." : ""}`,
  dots("Slowdown by program and policy", () => slowdownRows().sort((a, b) => b.worst - a.worst).slice(0, MOST), compared().policies.map((row) => row.policy), (value) => `${value.toFixed(2)}\u00d7`, { base: 1, least: 0.2 }));
const ofApp = (policy, key) => (row) => row.apps.get(policy)?.[key] ?? null;
section("by-program", "Programs", "Slowdown under each policy; beside it, how much shorter it runs than under linux.",
  table("Programs by policy", [
    { title: "program", value: (row) => row.name, show: (row) => row.name },
    { title: "alone, s", number: true, value: (row) => row.alone, show: (row) => figure(row.alone, 1) },
    ...compared().policies.map(({ policy }) => ({ title: policy, number: true, value: ofApp(policy, "slowdown"), show: (row) => (isNumber(ofApp(policy, "slowdown")(row)) ? `${figure(ofApp(policy, "slowdown")(row))}\u00d7` : dash) })),
    ...compared().policies.filter(({ policy }) => policy !== "linux").map(({ policy }) => ({ title: `${policy} vs linux`, number: true, value: ofApp(policy, "vs_linux_percent"), show: (row) => points(ofApp(policy, "vs_linux_percent")(row)), tone: tone(ofApp(policy, "vs_linux_percent")) })),
  ], () => (compared().policies[0]?.apps ?? []).map((app) => ({ name: app.name, alone: app.alone_seconds, apps: new Map(compared().policies.map((row) => [row.policy, row.apps.find((one) => one.name === app.name)])) })), { sort: 2 }));

if (run) {
  const heading = make("h2", { class: "part", id: "over-time", text: `One run over time: ${data.timeline.policy}, seed ${data.timeline.seed}` });
  // The span that is chosen is of this run.
  sections.append(heading, document.getElementById("range"), make("ul", { class: "words" }, ...run.summary.map((text) => make("li", { text }))));
  showRun();
}
finish(run?.left_out);
