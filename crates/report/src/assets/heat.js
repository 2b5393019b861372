// Heat maps over time: a row a range of addresses or a pair of nodes, drawn as a small picture that
// is stretched. Whoever cannot point at a cell walks to it with the arrow keys.
// `map`: {title, label, hint, legend(), origin (seconds of the first column), rows, seconds (of a column), columns, left, tall (of a row), colour(column, row),
// describe(column, row), labels: [[row, text]], strip: [{row, rows, colour, title}]}
function heatmap(map) {
  const box = make("div", { class: "chart" });
  const reading = make("p", { class: "reading", role: "status", text: map.hint });
  const cursor = { column: null, row: 0 };
  let svg, x, shown = [0, 0];
  const origin = map.origin ?? 0;
  const begin = (column) => origin + column * map.seconds;
  const y = (row) => 2 + row * map.tall();
  const left = () => map.left();
  function picture(from, to) {
    const canvas = make("canvas", { width: Math.max(1, to - from), height: map.rows });
    const context = canvas.getContext("2d");
    for (let column = from; column < to; column += 1) {
      for (let row = 0; row < map.rows; row += 1) {
        const ink = map.colour(column, row);
        if (!ink) continue;
        context.globalAlpha = ink.alpha;
        context.fillStyle = ink.colour;
        context.fillRect(column - from, row, 1, 1);
      }
    }
    return canvas.toDataURL();
  }
  function point(column, row) {
    Object.assign(cursor, { column: Math.min(shown[1] - 1, Math.max(shown[0], column)), row: Math.min(map.rows - 1, Math.max(0, row)) });
    reading.textContent = map.describe(cursor.column, cursor.row);
    const mark = svg.querySelector(".cursor");
    const [a, b] = [x(begin(cursor.column)), x(begin(cursor.column + 1))];
    for (const [key, value] of Object.entries({ x: a, width: Math.max(2, b - a), y: y(cursor.row), height: Math.max(2, map.tall()) })) mark.setAttribute(key, value);
    mark.removeAttribute("display");
  }
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  function walk(event) {
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    point((cursor.column ?? shown[0] - step[0]) + step[0], cursor.row + step[1]);
  }
  function follow(event) {
    const area = svg.getBoundingClientRect();
    const across = ((event.clientX - area.left) / area.width) * wide();
    const down = ((event.clientY - area.top) / area.height) * svg.viewBox.baseVal.height;
    const time = span.from + ((across - left()) / (wide() - left() - RIGHT)) * (span.to - span.from);
    if (time >= span.from && time < span.to && down >= y(0) && down < y(map.rows)) point(Math.floor((time - origin) / map.seconds), Math.floor((down - 2) / map.tall()));
  }
  watch(() => {
    const focused = document.activeElement === svg;
    shown = [Math.max(0, Math.floor((span.from - origin) / map.seconds + 1e-6)), Math.min(map.columns, Math.ceil((span.to - origin) / map.seconds - 1e-6))];
    x = place(wide(), left());
    const tall = y(map.rows) + 20;
    svg = draw("svg", { viewBox: `0 0 ${wide()} ${tall}`, role: "img", tabindex: 0, class: "map", "aria-label": `${map.label}. Arrow keys walk from cell to cell.` });
    const [a, b] = [x(begin(shown[0])), x(begin(shown[1]))];
    svg.append(draw("image", { href: picture(...shown), x: a, y: y(0), width: Math.max(1, b - a), height: y(map.rows) - y(0), preserveAspectRatio: "none" }));
    for (const one of map.strip?.() ?? []) {
      const part = draw("rect", { x: left() - 12, width: 8, y: y(one.row), height: Math.max(1, y(one.row + one.rows) - y(one.row)), fill: one.colour });
      part.append(draw("title", {}, one.title));
      svg.append(part);
    }
    for (const one of map.labels()) {
      if (one.line) svg.append(draw("line", { class: "axis", x1: 0, x2: wide() - RIGHT, y1: y(one.row), y2: y(one.row) }));
      svg.append(draw("text", { x: left() - 16, y: Math.max(10, y(one.row) + one.down), "text-anchor": "end" }, one.text));
    }
    svg.append(draw("rect", { class: "cursor", display: "none", fill: "none" }));
    timeAxis(svg, x, wide() - left(), tall - 4);
    svg.addEventListener("pointermove", follow);
    svg.addEventListener("pointerdown", follow);
    svg.addEventListener("keydown", walk);
    box.replaceChildren(...(map.title ? [make("h3", { text: map.title })] : []), svg, reading, ...(map.legend ? [map.legend()] : []));
    if (focused) svg.focus();
  });
  return box;
}
