//! The table of targets.

use crate::{targets, text};
use std::time::Duration;

/// What may be read from outside, and how much it is tried.
pub struct Target {
    /// The name, and that of the folder with its seeds.
    pub name: &'static str,
    /// How many inputs the tests make from the seeds.
    pub runs: u32,
    /// The CPU time that an input may take.
    pub limit: Duration,
    /// What is run.
    pub body: Body,
}

/// What a target takes.
#[derive(Clone, Copy)]
pub enum Body {
    /// Any bytes.
    Bytes(fn(&[u8])),
    /// Text; of bytes, the longest part at their beginning that is text.
    Text(fn(&str)),
}

impl Target {
    /// A target with the limits of a shipped one.
    pub const fn new(name: &'static str, runs: u32, body: Body) -> Self {
        Self { name, runs, limit: Duration::from_secs(10), body }
    }

    /// Runs it on one input.
    pub fn run(&self, input: &[u8]) {
        match self.body {
            Body::Bytes(run) => run(input),
            Body::Text(run) => run(text::of(input)),
        }
    }
}

/// The target of this name.
pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// Every target. Those that compute much come first, so that the tests end together.
pub const TARGETS: [Target; 19] = [
    Target::new("observation", 1500, Body::Text(targets::observation::run)),
    Target::new("workload", 800, Body::Text(targets::workload::run)),
    Target::new("machine", 4000, Body::Text(targets::machine::run)),
    Target::new("study", 1500, Body::Text(targets::study::run)),
    Target::new("settings", 2000, Body::Text(targets::settings::run)),
    Target::new("measured", 4000, Body::Text(targets::measured::run)),
    Target::new("program", 10_000, Body::Text(targets::program::run)),
    Target::new("page_trace", 20_000, Body::Bytes(targets::page_trace::run)),
    Target::new("archive", 10_000, Body::Bytes(targets::archive::run)),
    Target::new("control", 5000, Body::Bytes(targets::control::run)),
    Target::new("cpu_text", 6000, Body::Text(targets::cpu_text::run)),
    Target::new("page_csv", 6000, Body::Bytes(targets::page_csv::run)),
    Target::new("page_samples", 10_000, Body::Bytes(targets::page_samples::run)),
    Target::new("perf_bytes", 20_000, Body::Bytes(targets::perf_bytes::run)),
    Target::new("plan", 20_000, Body::Text(targets::plan::run)),
    Target::new("proc_text", 20_000, Body::Bytes(targets::proc_text::run)),
    Target::new("resctrl", 6000, Body::Bytes(targets::resctrl::run)),
    Target::new("state_file", 15_000, Body::Text(targets::state_file::run)),
    Target::new("topology", 2000, Body::Text(targets::topology::run)),
];
