// Charts over time: lines, stacked areas, and the brush that chooses a span.
// The width of what stands beside others; what has the page to itself is `wide()`.
const SMALL = 400, LEFT = 56, RIGHT = 10, TOP = 6;
const small = () => SMALL;
const place = (across, left = LEFT) => (time) => left + ((time - span.from) / (span.to - span.from || 1)) * (across - left - RIGHT);

// Times below a chart.
function timeAxis(svg, x, across, y) {
  const parts = across < 500 ? [0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1];
  for (const part of parts) {
    const time = span.from + part * (span.to - span.from);
    svg.append(draw("text", { x: x(time), y, "text-anchor": part === 0 ? "start" : part === 1 ? "end" : "middle" }, seconds(time)));
  }
}

// The end of an axis: a round number, not far above the greatest figure.
function round(most) {
  const power = 10 ** Math.floor(Math.log10(most || 1));
  return power * [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((step) => step * power >= most * 0.999);
}

function frame(across, tall, most, label, unit) {
  const x = place(across);
  const svg = draw("svg", { viewBox: `0 0 ${across} ${tall + 22}`, role: "img", "aria-label": label });
  const y = (value) => TOP + (1 - value / (most || 1)) * (tall - TOP);
  for (const part of [0, 0.5, 1]) {
    svg.append(draw("line", { class: "axis", x1: LEFT, x2: across - RIGHT, y1: y(most * part), y2: y(most * part) }));
    svg.append(draw("text", { x: LEFT - 4, y: y(most * part) + 4, "text-anchor": "end" }, unit(most * part)));
  }
  timeAxis(svg, x, across, tall + 16);
  return { svg, x, y };
}

// A path through the figures of the span; a gap where one is missing.
function path(series, x, y) {
  let text = "", pen = false;
  for (const at of within()) {
    const value = series[at];
    if (!isNumber(value)) { pen = false; continue; }
    text += `${pen ? "L" : "M"}${x(times[at]).toFixed(1)} ${y(value).toFixed(1)}`;
    if (!pen) text += `h.1`;
    pen = true;
  }
  return text;
}

// Names beyond these would be a wall of text; what is drawn has its name as a title, too.
const LEGEND = 16;
function legend(names) {
  const entry = ([name, at]) => make("li", {}, make("i", { style: `background:${colour(at)}` }), name);
  const [shown, more] = [names.slice(0, LEGEND), names.length - LEGEND];
  return make("ul", { class: "legend" }, ...shown.map(entry), more > 0 ? make("li", { text: `and ${more} more` }) : null);
}

// Lines of several series in one frame.
function lines(title, all, unit, least = 0, across = small) {
  const box = make("div", { class: "chart" });
  watch(() => {
    const values = all.flatMap(([, series]) => within().map((at) => series[at])).filter(isNumber);
    if (!values.length) { box.hidden = true; return; }
    box.hidden = false;
    const most = round(Math.max(least, ...values));
    const means = all.map(([name, series]) => `${name} ${unit(mean(series))}`).join(", ");
    const { svg, x, y } = frame(across(), 120, most, `${title}, mean of the span: ${means}`, unit);
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
    const { svg, x, y } = frame(wide(), narrow() ? 140 : 200, most, `${title} of ${name}`, pagesInWords);
    const floor = new Map(spots.map((at) => [at, 0]));
    layers.forEach(([layer, series], index) => {
      const low = spots.map((at) => `${x(times[at]).toFixed(1)} ${y(floor.get(at)).toFixed(1)}`).reverse();
      spots.forEach((at) => floor.set(at, floor.get(at) + (series[at] ?? 0)));
      const high = spots.map((at) => `${x(times[at]).toFixed(1)} ${y(floor.get(at)).toFixed(1)}`);
      const area = draw("path", { d: `M${[...high, ...low].join("L")}Z`, fill: colour(index), opacity: 0.8 });
      area.append(draw("title", {}, `${layer}: ${pagesInWords(mean(series) ?? 0)} on average`));
      svg.append(area);
    });
    box.replaceChildren(make("h3", { text: `${title}: ${name}` }), svg, legend(layers.map(([layer], at) => [layer, at])));
  });
  return box;
}

// The bar at the top: drag to choose a span, or type it. `all` are series of figures around 1.
const STRIP = 1000;
function range(box, label, all) {
  const tall = 46;
  const strip = draw("svg", { viewBox: `0 0 ${STRIP} ${tall}`, role: "img", "aria-label": `${label} over the whole run; drag to choose a span`, preserveAspectRatio: "none", style: `height:${tall}px;touch-action:none;cursor:crosshair` });
  const at = (time) => ((time - whole.from) / (whole.to - whole.from || 1)) * STRIP;
  all.forEach((series, index) => {
    const points = series.map((value, spot) => (isNumber(value) ? `${at(times[spot]).toFixed(1)},${(tall - 2 - Math.min(value, 1.1) * (tall - 6)).toFixed(1)}` : null));
    strip.append(draw("polyline", { points: points.filter(Boolean).join(" "), fill: "none", stroke: colour(index), "stroke-width": 1.2, "vector-effect": "non-scaling-stroke" }));
  });
  const brush = draw("rect", { class: "brush", y: 0, height: tall });
  strip.append(brush);
  const from = make("input", { type: "number", step: "any", id: "from", onchange: () => look({ from: Number(from.value) }) });
  const to = make("input", { type: "number", step: "any", id: "to", onchange: () => look({ to: Number(to.value) }) });
  const everything = make("button", { type: "button", text: "Whole run", onclick: () => look({ ...whole }) });
  const chosen = make("span", { id: "chosen", "aria-live": "polite" });
  const form = make("form", { onsubmit: (event) => event.preventDefault() }, make("span", { class: "hint", text: label }), make("label", { for: "from", text: "from" }), from, make("label", { for: "to", text: "to" }), to, make("span", { text: "seconds" }), everything, chosen);
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
    from.value = String(Number(span.from.toFixed(3)));
    to.value = String(Number(span.to.toFixed(3)));
    const program = span.program === null ? "" : `; program: ${run.programs[span.program].name}`;
    chosen.textContent = `${seconds(span.to - span.from)} of ${seconds(whole.to - whole.from)}${program}`;
  });
  box.append(strip, form);
  box.hidden = false;
}
