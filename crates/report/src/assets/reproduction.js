// Papers' claims: what the paper says, what came out here, and whether they agree.
const VERDICTS = { agrees: "\u2713 agrees", differs: "\u2717 differs", not_printed: "\u2013 not printed" };
const verdict = (value) => VERDICTS[value] ?? dash;
const tone = (key) => (row) => (row[key] === "agrees" ? "up" : row[key] === "differs" ? "down" : "");
const claims = data.papers.flatMap((one) => one.claims.map((claim) => ({ paper: one.paper, ...claim })));

section("claims", "Claims", "Direction: whether the effect goes the paper's way. Size: whether the figure agrees within the band, which the last column states with its reason; \u201cnot printed\u201d if the paper gives nothing to compare with.",
  table("Claims of the papers", [
    { title: "claim", value: (row) => row.id, show: (row) => row.id, whole: true },
    { title: "what the paper says", value: (row) => row.claim, show: (row) => row.claim, wide: true },
    { title: "its figure", value: (row) => row.paper_figure, show: (row) => row.paper_figure, wide: true },
    { title: "here", value: (row) => row.ours, show: (row) => row.ours, wide: true },
    { title: "direction", value: (row) => row.sign, show: (row) => verdict(row.sign), tone: tone("sign"), whole: true },
    { title: "size", value: (row) => row.size, show: (row) => verdict(row.size), tone: tone("size"), whole: true },
    { title: "band, and why", value: (row) => row.band, show: (row) => row.band, wide: true },
  ], () => claims, { sort: 0, down: false, whole: true }));

const figures = data.papers.flatMap((one) => one.figures);
const missing = figures.filter((found) => !found.svg);
if (figures.length) {
  // As pictures: a drawing in an image runs no script and asks nobody for anything.
  const address = (svg) => `data:image/svg+xml,${encodeURIComponent(svg)}`;
  const one = (found) => make("figure", {}, make("img", { src: address(found.svg), alt: found.title }), make("figcaption", { text: found.title }));
  section("figures", "Figures of the papers, redrawn", missing.length ? `${missing.length} of ${figures.length} figures are not in this page: \`isobar report\` takes them from the folder that --figures names.` : null,
    make("div", { class: "figures" }, ...figures.filter((found) => found.svg).map(one)),
    missing.length ? make("ul", { class: "note" }, ...missing.map((found) => make("li", { text: `${found.title}: ${found.file}` }))) : null);
}
finish();
