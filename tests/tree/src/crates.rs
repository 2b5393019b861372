//! The crates of the tree: the folder of each, and which of our crates it may import.

use std::path::{Path, PathBuf};

/// Which of our crates each crate may import.
pub const MAY_IMPORT: [(&str, &[&str]); 43] = [
    ("isobar-model", &[]),
    ("isobar-allocation", &[]),
    ("isobar-groups", &[]),
    ("isobar-contention", &["isobar-model"]),
    ("isobar-control", &[]),
    ("isobar-partition", &["isobar-model"]),
    ("isobar-profiles", &["isobar-model"]),
    ("isobar-optima", &["isobar-model", "isobar-partition"]),
    ("isobar-policy", &["isobar-contention", "isobar-groups", "isobar-model", "isobar-partition"]),
    ("isobar-linux", &["isobar-allocation", "isobar-groups", "isobar-model"]),
    ("isobar-shim", &["isobar-allocation"]),
    ("isobar-sim", &["isobar-contention", "isobar-model", "isobar-profiles"]),
    ("isobar-pages", &["isobar-model"]),
    ("isobar-tracer", &["isobar-linux", "isobar-model", "isobar-pages", "isobar-tracer-names", "isobar-tracer-plugin"]),
    ("isobar-tracer-plugin", &["isobar-pages"]),
    ("isobar-tracer-names", &[]),
    ("isobar-conformance", &["isobar-model"]),
    ("isobar-plot", &["isobar-model"]),
    ("isobar-recording", &["isobar-model"]),
    ("isobar-runtime", &["isobar-groups", "isobar-model", "isobar-policy"]),
    ("isobar-external", &["isobar-linux", "isobar-model"]),
    ("isobar-view", &["isobar-groups", "isobar-model", "isobar-policy"]),
    ("isobar-report", &["isobar-model", "isobar-view"]),
    ("isobar-metrics", &["isobar-model", "isobar-view"]),
    ("isobar-tui", &["isobar-model", "isobar-view"]),
    (
        "isobar-study",
        &["isobar-contention", "isobar-model", "isobar-optima", "isobar-partition", "isobar-profiles", "isobar-sim"],
    ),
    (
        "isobar-lab",
        &[
            "isobar-contention",
            "isobar-model",
            "isobar-optima",
            "isobar-pages",
            "isobar-partition",
            "isobar-plot",
            "isobar-policy",
            "isobar-profiles",
            "isobar-runtime",
            "isobar-sim",
            "isobar-study",
        ],
    ),
    // The machine and soak tests judge isobar from outside, and so does the resctrl that stands in
    // for the kernel's. The machine test writes traces that isobar applies.
    ("isobar-vm", &["isobar-pages"]),
    ("isobar-soak", &[]),
    ("isobar-resctrl-double", &[]),
    // What reads something from outside is tried on mutated inputs.
    (
        "isobar-fuzzed",
        &[
            "isobar-control",
            "isobar-linux",
            "isobar-model",
            "isobar-pages",
            "isobar-partition",
            "isobar-policy",
            "isobar-profiles",
            "isobar-sim",
            "isobar-study",
        ],
    ),
    ("isobar-tree", &[]),
    // numasim uses nothing of isobar except its figures.
    ("numasim-model", &[]),
    ("numasim-page", &[]),
    ("numasim-plugin", &["numasim-model", "numasim-page"]),
    ("numasim-guest", &["numasim-page"]),
    ("numasim", &["isobar-plot", "numasim-guest", "numasim-model"]),
    // The crate that connects the two.
    ("numasim-bridge", &["isobar-linux", "isobar-model", "numasim-page"]),
    ("numasim-resctrl", &["isobar-resctrl-double", "numasim-page"]),
    ("numasim-trace", &["isobar-pages", "numasim-guest"]),
    ("numasim-xval", &["isobar-model", "isobar-runtime", "isobar-sim", "numasim", "numasim-guest", "numasim-model"]),
    (
        "isobar-python",
        &[
            "isobar-external",
            "isobar-lab",
            "isobar-linux",
            "isobar-model",
            "isobar-pages",
            "isobar-profiles",
            "isobar-recording",
            "isobar-runtime",
            "isobar-sim",
            "isobar-study",
        ],
    ),
    (
        "isobar",
        &[
            "isobar-allocation",
            "isobar-control",
            "isobar-external",
            "isobar-lab",
            "isobar-linux",
            "isobar-metrics",
            "isobar-model",
            "isobar-pages",
            "isobar-plot",
            "isobar-profiles",
            "isobar-recording",
            "isobar-report",
            "isobar-runtime",
            "isobar-sim",
            "isobar-study",
            "isobar-tracer",
            "isobar-tui",
            "isobar-view",
            "numasim-bridge",
        ],
    ),
];

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The folder of a crate.
pub fn folder(name: &str) -> PathBuf {
    match name.split_once('-') {
        Some(("isobar", name @ ("fuzzed" | "vm" | "soak" | "tree"))) => root().join("tests").join(name),
        Some(("isobar", "python")) => root().join("python"),
        Some(("isobar", name)) => root().join("crates").join(name),
        Some(("numasim", "xval")) => root().join("numasim/bridge/xval"),
        Some(("numasim", "resctrl")) => root().join("numasim/bridge/resctrl"),
        Some(("numasim", "trace")) => root().join("numasim/bridge/trace"),
        Some((family, name)) => root().join(family).join(name),
        None if name == "numasim" => root().join("numasim/lab"),
        None => root().join("crates").join(name),
    }
}
