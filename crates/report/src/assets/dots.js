// Figures side by side: a row a program or policy, a dot a series, with the interval of the mean.
// `rows`: [{name, points: [{series, value, low, high, title}]}]
function dots(label, rows, names, unit, options = {}) {
  const box = make("div", { class: "chart" });
  watch(() => {
    const all = rows();
    const values = all.flatMap((row) => row.points.flatMap((one) => [one.value, one.low, one.high])).filter(isNumber);
    if (!values.length) { box.replaceChildren(); return; }
    const base = options.base ?? 0;
    const least = Math.min(base, ...values), most = Math.max(base + (options.least ?? 0), ...values);
    const left = Math.min(170, wide() * 0.32), step = Math.max(18, names.length * 6 + 8), tall = all.length * step + 8;
    const x = (value) => left + ((value - least) / (most - least || 1)) * (wide() - left - 40);
    const svg = draw("svg", { viewBox: `0 0 ${wide()} ${tall + 20}`, role: "img", "aria-label": label });
    all.forEach((_, at) => { if (at % 2) svg.append(draw("rect", { class: "band", x: 0, y: at * step + 4, width: wide(), height: step })); });
    for (const part of narrow() ? [0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1]) {
      const value = least + part * (most - least);
      svg.append(draw("line", { class: "axis", x1: x(value), x2: x(value), y1: 0, y2: tall }));
      svg.append(draw("text", { x: x(value), y: tall + 15, "text-anchor": "middle" }, unit(value)));
    }
    svg.append(draw("line", { class: "base", x1: x(base), x2: x(base), y1: 0, y2: tall }));
    all.forEach((row, at) => {
      const top = at * step + 4;
      svg.append(draw("text", { x: left - 10, y: top + step / 2 + 4, "text-anchor": "end" }, shortened(row.name, Math.floor(left / 6.6))));
      for (const one of row.points.filter((point) => isNumber(point.value))) {
        const y = top + 7 + one.series * 6 + (step - 8 - names.length * 6) / 2;
        const group = draw("g", {});
        group.append(draw("title", {}, `${row.name}, ${one.title}`));
        if (isNumber(one.low) && isNumber(one.high)) group.append(draw("line", { x1: x(one.low), x2: x(one.high), y1: y, y2: y, stroke: colour(one.series), "stroke-width": 1.6, opacity: 0.55 }));
        group.append(draw("circle", { cx: x(one.value), cy: y, r: 3.4, fill: colour(one.series) }));
        svg.append(group);
      }
    });
    box.replaceChildren(svg, names.length > 1 ? legend(names.map((name, at) => [name, at])) : "");
  });
  return box;
}

// Which of several is looked at: a workload, a paper. `change(position)` draws it.
function choice(label, names, change) {
  const select = make("select", { id: "choice", onchange: () => change(Number(select.value)) }, ...names.map((name, at) => make("option", { value: at, text: name })));
  return make("div", { class: "tools" }, make("label", { for: "choice", text: label }), select);
}
