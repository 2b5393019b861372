//! The crates of the tree: where each lies, and which of ours it may import.

use std::path::{Path, PathBuf};

/// Which crates of ours each crate may import.
pub const MAY_IMPORT: [(&str, &[&str]); 20] = [
    ("isobar-model", &[]),
    ("isobar-partition", &["isobar-model"]),
    ("isobar-optima", &["isobar-model", "isobar-partition"]),
    ("isobar-policy", &["isobar-model", "isobar-partition"]),
    // The page of numasim's machine is where its test backend reads.
    ("isobar-linux", &["isobar-model", "numasim-page"]),
    ("isobar-sim", &["isobar-model"]),
    ("isobar-trace", &["isobar-model"]),
    ("isobar-conformance", &["isobar-model"]),
    ("isobar-plot", &["isobar-model"]),
    (
        "isobar-lab",
        &[
            "isobar-model",
            "isobar-partition",
            "isobar-optima",
            "isobar-plot",
            "isobar-policy",
            "isobar-sim",
            "isobar-trace",
        ],
    ),
    // The machine and soak tests judge isobar from outside, and so does the resctrl that stands in for the kernel's.
    ("isobar-vm", &[]),
    ("isobar-soak", &[]),
    ("isobar-resctrl-double", &[]),
    ("isobar-tree", &[]),
    // numasim is of use without isobar, and its machine knows nothing of it.
    ("numasim-model", &[]),
    ("numasim-page", &[]),
    ("numasim-plugin", &["numasim-model", "numasim-page"]),
    ("numasim-guest", &["numasim-page"]),
    // The laboratory takes machines from the simulator and figures from its laboratory.
    ("numasim", &["isobar-lab", "isobar-model", "isobar-plot", "isobar-sim", "numasim-guest", "numasim-model"]),
    (
        "isobar",
        &[
            "isobar-model",
            "isobar-partition",
            "isobar-optima",
            "isobar-policy",
            "isobar-linux",
            "isobar-sim",
            "isobar-trace",
            "isobar-lab",
        ],
    ),
];

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Where a crate lies.
pub fn folder(name: &str) -> PathBuf {
    match name.split_once('-') {
        Some(("isobar", name @ ("vm" | "soak" | "tree"))) => root().join("tests").join(name),
        Some(("isobar", name)) => root().join("crates").join(name),
        Some((family, name)) => root().join(family).join(name),
        None if name == "numasim" => root().join("numasim/lab"),
        None => root().join("crates").join(name),
    }
}
