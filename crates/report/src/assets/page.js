// What every page has: its title and facts, and at the end how to get its figures.
document.getElementById("title").textContent = data.head.title;
document.getElementById("facts").append(...data.head.facts.map(([name, value]) => make("div", {}, make("dt", { text: name }), make("dd", { text: value }))));
document.getElementById("remarks").append(...data.head.remarks.map((text) => make("li", { text })));

function finish(leftOut = []) {
  const first = sections.querySelector("section");
  if (first) document.querySelector(".skip").setAttribute("href", `#${first.id}`);
  document.getElementById("left-out").textContent = leftOut.length ? `Not in this page: ${leftOut.join(", ")}.` : "";
  document.getElementById("save").addEventListener("click", () => {
    const link = make("a", { href: URL.createObjectURL(new Blob([JSON.stringify(data, null, 1)], { type: "application/json" })), download: "isobar-report.json" });
    link.click();
  });
}
