// Charts over time: lines, stacked areas, and the brush that chooses a span.
// Widths of what stands beside others, and of what has the page to itself.
const SMALL = 400, WIDE = 1180, LEFT = 52, RIGHT = 10, TOP = 6;
const place = (wide) => (time) => LEFT + ((time - span.from) / (span.to - span.from || 1)) * (wide - LEFT - RIGHT);

function frame(wide, tall, most, label, unit) {
  const x = place(wide);
  const svg = draw("svg", { viewBox: `0 0 ${wide} ${tall + 22}`, role: "img", "aria-label": label });
  const y = (value) => TOP + (1 - value / (most || 1)) * (tall - TOP);
  for (const part of [0, 0.5, 1]) {
    svg.append(draw("line", { class: "axis", x1: LEFT, x2: wide - RIGHT, y1: y(most * part), y2: y(most * part) }));
    svg.append(draw("text", { x: LEFT - 4, y: y(most * part) + 4, "text-anchor": "end" }, unit(most * part)));
  }
  for (const part of [0, 0.25, 0.5, 0.75, 1]) {
    const time = span.from + part * (span.to - span.from);
    const anchor = part === 0 ? "start" : part === 1 ? "end" : "middle";
    svg.append(draw("text", { x: x(time), y: tall + 16, "text-anchor": anchor }, seconds(time)));
  }
  return { svg, x, y };
}

// A path through the figures of the span; a gap where one is missing.
function path(series, x, y) {
  let text = "", pen = false;
  for (const at of within()) {
    const value = series[at];
    if (!isNumber(value)) { pen = false; continue; }
    text += `${pen ? "L" : "M"}${x(data.times[at]).toFixed(1)} ${y(value).toFixed(1)}`;
    if (!pen) text += `h.1`;
    pen = true;
  }
  return text;
}

function legend(names) {
  const entry = ([name, at]) => make("li", {}, make("i", { style: `background:${colour(at)}` }), name);
  return make("ul", { class: "legend" }, ...names.map(entry));
}

// Lines of several series in one frame.
function lines(title, all, unit, least = 0, wide = SMALL) {
  const box = make("div", { class: "chart" });
  watch(() => {
    const values = all.flatMap(([, series]) => within().map((at) => series[at])).filter(isNumber);
    if (!values.length) { box.hidden = true; return; }
    box.hidden = false;
    const most = Math.max(least, ...values);
    const means = all.map(([name, series]) => `${name} ${unit(mean(series))}`).join(", ");
    const { svg, x, y } = frame(wide, 120, most, `${title}, mean of the span: ${means}`, unit);
    all.forEach(([name, series], at) => {
      const line = draw("path", { d: path(series, x, y), fill: "none", stroke: colour(at), "stroke-width": 1.6 });
      line.append(draw("title", {}, `${name}: mean ${unit(mean(series))}`));
      svg.append(line);
    });
    box.replaceChildren(make("h3", { text: title }), svg, legend(all.map(([name], at) => [name, at])));
  });
  return box;
}

// Areas on top of each other: where pages are.
function stacked(title, choose) {
  const box = make("div", { class: "chart" });
  watch(() => {
    const { name, layers } = choose();
    const total = (at) => layers.reduce((sum, [, series]) => sum + (series[at] ?? 0), 0);
    const spots = within();
    const most = Math.max(...spots.map(total), 1);
    const { svg, x, y } = frame(WIDE, 200, most, `${title} of ${name}`, pagesInWords);
    const floor = new Map(spots.map((at) => [at, 0]));
    layers.forEach(([layer, series], index) => {
      const low = spots.map((at) => `${x(data.times[at]).toFixed(1)} ${y(floor.get(at)).toFixed(1)}`).reverse();
      spots.forEach((at) => floor.set(at, floor.get(at) + (series[at] ?? 0)));
      const high = spots.map((at) => `${x(data.times[at]).toFixed(1)} ${y(floor.get(at)).toFixed(1)}`);
      const area = draw("path", { d: `M${[...high, ...low].join("L")}Z`, fill: colour(index), opacity: 0.8 });
      area.append(draw("title", {}, `${layer}: ${pagesInWords(mean(series) ?? 0)} on the mean`));
      svg.append(area);
    });
    box.replaceChildren(make("h3", { text: `${title}: ${name}` }), svg, legend(layers.map(([layer], at) => [layer, at])));
  });
  return box;
}

// The bar at the top: drag to choose a span, or type it.
function range(box) {
  const tall = 46;
  const strip = draw("svg", { viewBox: `0 0 ${WIDE} ${tall}`, role: "img", "aria-label": "Load of the memory controllers over the whole run; drag to choose a span", preserveAspectRatio: "none", style: `height:${tall}px;touch-action:none;cursor:crosshair` });
  const at = (time) => ((time - whole.from) / (whole.to - whole.from || 1)) * WIDE;
  data.nodes.forEach((node, index) => {
    const series = node.load.some(isNumber) ? node.load : node.busy;
    const points = series.map((value, spot) => (isNumber(value) ? `${at(data.times[spot]).toFixed(1)},${(tall - 2 - Math.min(value, 1.1) * (tall - 6)).toFixed(1)}` : null));
    strip.append(draw("polyline", { points: points.filter(Boolean).join(" "), fill: "none", stroke: colour(index), "stroke-width": 1.2 }));
  });
  const brush = draw("rect", { class: "brush", y: 0, height: tall });
  strip.append(brush);
  const from = make("input", { type: "number", step: "any", id: "from", onchange: () => look({ from: Number(from.value) }) });
  const to = make("input", { type: "number", step: "any", id: "to", onchange: () => look({ to: Number(to.value) }) });
  const all = make("button", { type: "button", text: "Whole run", onclick: () => look({ ...whole }) });
  const form = make("form", { onsubmit: (event) => event.preventDefault() }, make("label", { for: "from", text: "from" }), from, make("label", { for: "to", text: "to" }), to, make("span", { text: "seconds" }), all, make("span", { id: "chosen", "aria-live": "polite" }));
  const time = (event) => {
    const area = strip.getBoundingClientRect();
    const part = Math.min(1, Math.max(0, (event.clientX - area.left) / area.width));
    return whole.from + part * (whole.to - whole.from);
  };
  let start = null;
  strip.addEventListener("pointerdown", (event) => { start = time(event); strip.setPointerCapture(event.pointerId); });
  strip.addEventListener("pointermove", (event) => { if (start !== null) shade(start, time(event)); });
  strip.addEventListener("pointerup", (event) => {
    const end = time(event), begin = start;
    start = null;
    if (Math.abs(at(end) - at(begin)) < 3) look({ ...whole });
    else look({ from: Math.min(begin, end), to: Math.max(begin, end) });
  });
  function shade(a, b) {
    brush.setAttribute("x", at(Math.min(a, b)));
    brush.setAttribute("width", Math.abs(at(b) - at(a)));
  }
  watch(() => {
    shade(span.from, span.to);
    from.value = span.from.toFixed(1);
    to.value = span.to.toFixed(1);
    const program = span.program === null ? "" : `; program: ${data.programs[span.program].name}`;
    document.getElementById("chosen") && (document.getElementById("chosen").textContent = `${seconds(span.to - span.from)} of ${seconds(whole.to - whole.from)}${program}`);
  });
  box.append(strip, form);
}
