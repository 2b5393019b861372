"use strict";
// Elements, figures, and the span of time that all charts and tables share.
const data = JSON.parse(document.getElementById("data").textContent);
// What is shown over time: a recording, one run of a simulation, the slices of a page trace.
const run = data.kind === "recording" ? data : data.run ?? null;
const times = (run ?? data).times ?? [];
const SVG = "http://www.w3.org/2000/svg";

// An element with attributes and children; texts become text, never markup.
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "text") element.textContent = value;
    else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function draw(name, attributes = {}, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

// Colours that are told apart by people who see few of them, on light and dark paper.
const COLOURS = ["#3b82c4", "#e08a1e", "#2a9d77", "#c95fa5", "#8a6fd1", "#d9534f", "#5aa9b8", "#a58b2d", "#7a8794", "#6b9e3c"];
// Beyond those, hues that are far from the ones before.
const colour = (at) => COLOURS[at] ?? `hsl(${Math.round((at * 137.5) % 360)} 55% 52%)`;

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const dash = "\u2013";
const percent = (part, digits = 0) => (isNumber(part) ? `${(part * 100).toFixed(digits)} %` : dash);
const signed = (part) => (isNumber(part) ? `${part < 0 ? "\u2212" : "+"}${Math.abs(part * 100).toFixed(1)} %` : dash);
const figure = (value, digits = 2) => (isNumber(value) ? value.toFixed(digits) : dash);
// With the digits that a run of this length needs.
const seconds = (value) => (isNumber(value) ? `${value.toFixed([0.1, 2, 10, 100].reduce((digits, length) => digits + (whole.to - whole.from < length ? 1 : 0), 0))} s` : dash);
const shortened = (text, most) => (text.length > most ? `${text.slice(0, Math.max(1, most - 1))}\u2026` : text);
const rate = (value) => (isNumber(value) ? `${(value / 1e9).toFixed(2)} GB/s` : dash);
const pagesInWords = (pages) => {
  const mib = (pages * 4) / 1024;
  return mib >= 1024 ? `${(mib / 1024).toFixed(1)} GiB` : `${mib.toFixed(0)} MiB`;
};

// The span that is looked at, in seconds; `watchers` draw anew when it changes.
const whole = { from: times.length ? Math.max(0, 2 * times[0] - (times[1] ?? 2 * times[0])) : 0, to: times.at(-1) ?? 0 };
const span = { ...whole, program: null };
const watchers = [];
const watch = (redraw) => { watchers.push(redraw); redraw(); };
function look(change) {
  Object.assign(span, change);
  if (span.to <= span.from) Object.assign(span, whole);
  for (const redraw of watchers) redraw();
}

// Positions of the figures within the span.
function within() {
  const found = [];
  times.forEach((time, at) => { if (time > span.from && time <= span.to + 1e-9) found.push(at); });
  return found.length ? found : times.map((_, at) => at);
}
function mean(series) {
  const values = within().map((at) => series[at]).filter(isNumber);
  return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
}

const sections = document.getElementById("sections");
// Charts are drawn as wide as the page is, so that their letters keep their size.
let paper = null;
const wide = () => paper ?? Math.max(340, Math.min(1180, sections.clientWidth || 1180));
const narrow = () => wide() < 700;
let drawn = 0;
addEventListener("resize", () => { if (wide() !== drawn) { drawn = wide(); look({}); } });
addEventListener("beforeprint", () => { paper = 720; look({}); });
addEventListener("afterprint", () => { paper = null; look({}); });
// A section with a heading; nothing where there is nothing to show.
function section(id, title, note, ...children) {
  const heading = make("h2", { id: `${id}-title`, text: title });
  const part = make("section", { id, "aria-labelledby": `${id}-title` }, heading, note ? make("p", { class: "note", text: note }) : null, ...children);
  sections.append(part);
  return part;
}
