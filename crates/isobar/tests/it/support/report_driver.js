// What a person would do in a report of any kind: sort, filter, choose a row, drag over a span of
// time, walk over a map with the keyboard; what came of it goes to the page around it.
const faults = [];
const said = {};
const rows = (id) => [...document.querySelectorAll(`#${id} tbody tr`)];
const column = (id, at) => rows(id).map((row) => row.children[at].textContent);
const click = (element) => element.dispatchEvent(new MouseEvent("click", { bubbles: true }));

function tables() {
  const found = [...document.querySelectorAll("section[id]:has(thead button)")].map((section) => section.id);
  said.tables = found.map((id) => {
    const button = document.querySelector(`#${id} thead button`);
    click(button);
    const ascending = column(id, 0);
    click(button);
    const descending = column(id, 0);
    const sorts = document.querySelector(`#${id} thead [aria-sort]`).getAttribute("aria-sort");
    const filter = document.querySelector(`#${id} input[type=search]`), wanted = rows(id)[0].firstChild.textContent.slice(0, 3).toLowerCase();
    const type = (text) => { filter.value = text; filter.dispatchEvent(new Event("input")); };
    type("no row holds this");
    const none = rows(id).length;
    type(wanted);
    const some = rows(id).length;
    type("");
    return { id, ascending, descending, sorts, none, some, all: rows(id).length };
  });
}

function brush() {
  const strip = document.querySelector("#range svg");
  if (!strip) return;
  const area = strip.getBoundingClientRect();
  strip.setPointerCapture = () => {};
  const drag = (type, part) => strip.dispatchEvent(new PointerEvent(type, { clientX: area.left + area.width * part, clientY: area.top + 5, pointerId: 1 }));
  const drawn = () => [...document.querySelectorAll("#nodes path[stroke], #course path[stroke], svg.map image")].map((one) => one.getAttribute("d") ?? one.getAttribute("href")).join();
  const before = drawn();
  said.whole = Number(document.getElementById("to").value);
  drag("pointerdown", 0.5); drag("pointermove", 0.7); drag("pointerup", 0.75);
  said.from = Number(document.getElementById("from").value);
  said.to = Number(document.getElementById("to").value);
  said.redrawn = before !== drawn();
  said.actions = rows("actions").length;
  click([...document.querySelectorAll("#range button")].find((button) => button.textContent === "Whole run"));
  said.actionsOfAll = rows("actions").length;
}

function choose() {
  const row = document.querySelector("tr[tabindex]");
  if (row) row.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  said.chosen = document.querySelectorAll("tr.chosen").length;
  said.faded = document.querySelectorAll('#lanes rect[opacity="0.12"]').length;
  const again = document.querySelector("tr.chosen[tabindex]");
  if (again) click(again);
  const choice = document.getElementById("choice");
  if (choice) {
    const drawn = () => document.getElementById("slowdowns").textContent;
    const before = drawn();
    choice.value = choice.options.length - 1;
    choice.dispatchEvent(new Event("change"));
    said.choice = before !== drawn();
  }
}

function walk() {
  said.maps = [...document.querySelectorAll("section:has(svg.map)")].map((section) => {
    const picture = () => section.querySelector("svg.map image").getAttribute("href");
    const key = (name) => section.querySelector("svg.map").dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
    const reading = section.querySelector(".reading");
    key("ArrowRight"); key("ArrowDown");
    const first = reading.textContent;
    key("ArrowRight");
    const before = picture(), layer = section.querySelector("#layer");
    if (layer && layer.options.length > 1) { layer.value = 1; layer.dispatchEvent(new Event("change")); }
    return { id: section.id, first, next: reading.textContent, layers: layer ? layer.options.length : 0, recoloured: before !== picture() };
  });
}

function drive() {
  try {
    everything();
  } catch (error) { faults.push(String(error.stack)); }
  said.faults = faults.concat(window.faults);
  parent.postMessage({ name: window.frameName, said }, "*");
}

function everything() {
  tables();
  choose();
  brush();
  walk();
  said.kind = JSON.parse(document.getElementById("data").textContent).kind;
  said.heading = document.getElementById("title").textContent;
  said.words = document.querySelectorAll(".words li").length;
  said.pictures = [...document.images].filter((image) => image.complete && image.naturalWidth > 0).length;
  said.clusters = document.querySelectorAll("rect.cluster").length;
  said.dots = document.querySelectorAll("circle").length;
  said.sections = [...document.querySelectorAll("section[id]")].map((section) => section.id);
  said.unnamed = [...document.querySelectorAll("svg:not([aria-label]), table:not(:has(caption)), button:empty, input:not([aria-label]):not([id]), img:not([alt])")].length;
  said.sideways = document.documentElement.scrollWidth > document.documentElement.clientWidth;
  said.requests = performance.getEntriesByType("resource").map((entry) => entry.name).filter((name) => !name.startsWith("data:"));
}

addEventListener("load", drive);
