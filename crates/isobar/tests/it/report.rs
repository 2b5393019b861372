//! `isobar report`, opened and driven in a real browser.

#![allow(clippy::panic, clippy::unwrap_used)]

use crate::support::{file, isobar};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

const WORKLOAD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/workloads/dino-spec.toml");

/// A page of a short run, and its folder.
fn page() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let name = |end: &str| folder.path().join(format!("run{end}")).display().to_string();
    let (recording, machine) = (name(".isobar"), format!("sim:{WORKLOAD}"));
    isobar(&["manage", "--policy", "isobar", "--machine", &machine, "--for", "60", "--record", &recording]).done();
    let said = isobar(&["report", &recording]).done().to_owned();
    assert!(said.contains("run.html (") && said.contains("60 epochs)"), "{said}");
    let page = std::fs::read_to_string(name(".html")).unwrap();
    isobar(&["report", &recording]).refused(&["is there already: give --force to write over it"]);
    (folder, page)
}

/// What a person would do, in the page: sort, filter, choose a program and a span; what came of it
/// goes into the document's title.
const DRIVER: &str = include_str!("support/report_driver.js");

/// Collects what a console would show.
const LISTENER: &str = r"<script>window.faults = [];
window.addEventListener('error', (event) => faults.push(event.message));
window.addEventListener('securitypolicyviolation', (event) => faults.push(event.violatedDirective));
console.error = (...all) => faults.push(all.join(' '));</script>";

#[test]
fn it_sorts_filters_and_brushes_in_a_browser_that_has_nothing_to_complain_of() {
    let Some(browser) = browser() else { return };
    let (folder, page) = page();
    let driven = page.replacen("<style>", &format!("{LISTENER}<style>"), 1);
    let driven = driven.replacen("</body>", &format!("<script>{DRIVER}</script></body>"), 1);
    let path = folder.path().join("driven.html");
    std::fs::write(&path, driven).unwrap();
    let said = title(&browser, &path, folder.path());
    assert_eq!(said["faults"], Value::Array(Vec::new()), "{said}");
    assert_eq!(said["requests"], Value::Array(Vec::new()), "{said}");
    let texts = |key: &str| -> Vec<String> { serde_json::from_value(said[key].clone()).unwrap() };
    let (ascending, mut sorted) = (texts("ascending"), texts("descending"));
    sorted.sort();
    assert_eq!(ascending, sorted);
    assert!(ascending.len() >= 16 && ascending.first() != ascending.last(), "{ascending:?}");
    assert!(!texts("filtered").is_empty() && texts("filtered").iter().all(|name| name == "mcf"), "{said}");
    assert!(said["chosen"] == 1 && said["faded"].as_u64().unwrap() > 5, "{said}");
    // Dragged over a quarter of 60 seconds, from the half on.
    let (from, to) = (said["from"].as_f64().unwrap(), said["to"].as_f64().unwrap());
    assert!((from - 30.0).abs() < 1.0 && (to - 45.0).abs() < 1.0 && said["redrawn"] == true, "{said}");
    assert!(said["actions"].as_u64() < said["actionsOfAll"].as_u64(), "{said}");
    let sections = texts("sections");
    for wanted in ["programs", "lanes", "nodes", "pages", "caches", "latency", "harms", "changes", "actions"] {
        assert!(sections.iter().any(|section| section == wanted), "{wanted}: {sections:?}");
    }
    assert_eq!(said["unnamed"], 0, "what is drawn has a name for who cannot see it: {said}");
}

/// What the driver left in the title.
fn title(browser: &str, page: &Path, folder: &Path) -> Value {
    let run = Command::new("timeout")
        .args(["60", browser, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1280,900", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("file://{}", page.display()))
        .stderr(Stdio::null())
        .output()
        .unwrap();
    let document = String::from_utf8(run.stdout).unwrap();
    let title = document.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next());
    let title = title.unwrap_or_else(|| panic!("no page: {document}")).replace("&lt;", "<").replace("&gt;", ">");
    serde_json::from_str(&title.replace("&amp;", "&")).unwrap_or_else(|error| panic!("{error}: {title}"))
}

fn browser() -> Option<String> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = names.into_iter().find(|name| {
        Command::new(name)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    });
    if found.is_none() {
        eprintln!("SKIPPED: needs chromium (apt-get install chromium): the report was not opened in a browser");
    }
    found.map(str::to_owned)
}

#[test]
fn a_page_is_never_written_over_what_it_is_made_of() {
    let (_folder, other) = file("other.html", "not a recording");
    isobar(&["report", &other]).refused(&["the page would replace the recording: give -o FILE"]);
    isobar(&["report", &other, "-o", "/tmp/never.html"]).refused(&["is no recording of isobar"]);
}
