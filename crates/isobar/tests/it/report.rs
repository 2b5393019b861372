//! `isobar report` on every kind of file. The pages are opened and operated in a real browser, all
//! in one start of it, each as wide as a screen and as narrow as a phone.

#![allow(clippy::panic, clippy::unwrap_used)]

use crate::support::{file, isobar};
use isobar_pages::trace::{End, FirstTouch, Header, Region, RegionKind, Row, Slice, Thread, Writer};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&\u{202e}{{data}}";

/// Does in the page what a person would do. The results are posted to the page around it.
const DRIVER: &str = include_str!("support/report_driver.js");

/// Collects what a console would show.
const LISTENER: &str = r"<script>window.faults = [];
window.alert = () => faults.push('a name became a script');
window.addEventListener('error', (event) => faults.push(event.message));
window.addEventListener('securitypolicyviolation', (event) => faults.push(event.violatedDirective));
console.error = (...all) => faults.push(all.join(' '));</script>";

/// Collects the results that the pages in its frames post.
const AROUND: &str = r"<!DOCTYPE html><title>{}</title><script>const said = {};
addEventListener('message', (event) => { said[event.data.name] = event.data.said; document.title = JSON.stringify(said); });
</script>";

const KINDS: [&str; 5] = ["recording", "simulation", "study", "reproduction", "pages"];

fn workload() -> String {
    format!("{ROOT}/examples/workloads/dino-spec.toml")
}

/// Makes `KIND.html` for every kind in a folder, each from the output of its verb.
fn pages(folder: &Path) {
    let name = |end: &str| folder.join(end).display().to_string();
    let (recording, machine) = (name("recording.isobar"), format!("sim:{}", workload()));
    isobar(&["manage", "--policy", "isobar", "--machine", &machine, "--for", "60", "--record", &recording]).done();
    let said = isobar(&["report", &recording]).done().to_owned();
    assert!(said.contains("recording.html (") && said.contains("60 epochs)"), "{said}");
    isobar(&["report", &recording]).refused(&["already exists: give --force to overwrite it"]);

    let page = name("simulation.html");
    let run = isobar(&[
        "sim",
        &format!("{ROOT}/examples/own/workload.toml"),
        "--policy",
        "linux,dino",
        "--repeat",
        "2",
        "--report",
        &page,
    ]);
    assert!(run.err.contains("2 policies on 1 workload)"), "{}", run.err);

    let rows = isobar(&[
        "study",
        "--profiles",
        "machine:xeon-4x8",
        "--workloads",
        &format!("{ROOT}/examples/study/library.txt"),
        "--algorithm",
        "none,lfoc+",
        "--json",
    ]);
    std::fs::write(name("study.jsonl"), rows.done().replacen("\"mcf\"", &json!(HOSTILE).to_string(), 1)).unwrap();
    isobar(&["report", &name("study.jsonl")]).done();

    std::fs::write(name("reproduction.json"), reproduction().to_string()).unwrap();
    let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9\" height=\"9\"><script>alert(1)</script><rect width=\"9\" height=\"9\"/></svg>";
    std::fs::write(name("x-figure-1.svg"), svg).unwrap();
    let said = isobar(&["report", &name("reproduction.json"), "--figures", &name("")]).done().to_owned();
    assert!(said.contains("2 claims, 1 figure)"), "{said}");

    trace(&folder.join("pages.trace"));
    isobar(&["report", &name("pages.trace"), "--nodes", "2"]).done();
}

fn reproduction() -> Value {
    let claim = |id: &str, size: &str| json!({"id": id, "claim": HOSTILE, "paper": "10 %", "ours": "9 %", "sign": "agrees", "size": size, "band": "half"});
    let figures = [
        json!({"file": "x-figure-1.svg", "title": "one"}),
        json!({"file": "../x-figure-1.svg", "title": "out of the folder"}),
    ];
    json!({"seed": 1, "quick": false, "papers": [{"paper": "x", "claims": [claim("x-1", "agrees"), claim("x-2", "differs")], "figures": figures}]})
}

/// Four threads in 40 slices: two arrays, each used by one pair of threads, and one array that all
/// share.
fn trace(path: &Path) {
    let header = Header {
        engine: "by hand".into(),
        sampled: None,
        page_bytes: 4096,
        slice_ns: 10_000_000,
        command: vec!["./a".into(), HOSTILE.into()],
    };
    let mut writer = Writer::new(std::fs::File::create(path).unwrap(), &header).unwrap();
    for number in 0..4 {
        writer.thread(&Thread { number, tid: 100 + number, name: (number == 1).then(|| HOSTILE.to_owned()) }).unwrap();
    }
    for (start, name) in [(0x10_0000_u64, "left"), (0x20_0000, "right"), (0x30_0000, HOSTILE)] {
        let kind = RegionKind::Named { name: name.to_owned(), line: None };
        writer.region(&Region { start, end: start + 20 * 4096, kind }).unwrap();
    }
    for number in 0..40_u64 {
        let page = |base: u64| base + number % 20;
        let row = |page, thread, loads| Row { page, thread, loads, stores: 1 };
        let mut rows = vec![row(page(0x100), 0, 9), row(page(0x200), 3, 9)];
        rows.extend((0..4).map(|thread| row(page(0x300), thread, 5)));
        let touch = |page| FirstTouch { page, thread: 0 };
        let first =
            if number < 20 { vec![touch(page(0x100)), touch(page(0x200)), touch(page(0x300))] } else { Vec::new() };
        writer.slice(&Slice { number, first, rows }).unwrap();
    }
    writer.end(&End { ran_ns: 400_000_000, status: Some(0), missing: Vec::new() }).unwrap();
}

/// What the driver found in each page, by kind and width.
fn driven(browser: &str, folder: &Path) -> Value {
    let mut around = AROUND.to_owned();
    for kind in KINDS {
        let page = std::fs::read_to_string(folder.join(format!("{kind}.html"))).unwrap();
        for width in [1280, 420] {
            let name = format!("{kind}-{width}");
            let listener = format!("{LISTENER}<script>window.frameName = '{name}'</script><style>");
            let page = page.replacen("<style>", &listener, 1).replacen(
                "</body>",
                &format!("<script>{DRIVER}</script></body>"),
                1,
            );
            std::fs::write(folder.join(format!("{name}.html")), page).unwrap();
            around += &format!("<iframe src='{name}.html' width={width} height=900></iframe>");
        }
    }
    let path = folder.join("around.html");
    std::fs::write(&path, around).unwrap();
    title(browser, &path, folder)
}

#[test]
fn every_kind_works_in_a_browser_that_has_nothing_to_complain_of() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    pages(folder.path());
    let all = driven(&browser, folder.path());
    for kind in KINDS {
        for width in ["1280", "420"] {
            whole(&all[format!("{kind}-{width}")], kind, width);
        }
    }
    recording(&all["recording-1280"]);
    assert!(all["simulation-1280"]["dots"].as_u64() > Some(4), "{all}");
    let study = &all["study-1280"];
    assert!(
        study["choice"] == true && study["chosen"].as_u64() > Some(1) && study["clusters"].as_u64() > Some(1),
        "{study}"
    );
    assert_eq!(all["reproduction-1280"]["pictures"], 1, "{}", all["reproduction-1280"]);
    map(&all["pages-1280"]);
}

/// What holds for every page.
fn whole(said: &Value, kind: &str, width: &str) {
    assert_eq!((&said["faults"], &said["requests"]), (&json!([]), &json!([])), "{kind} {width}: {said}");
    assert_eq!((&said["kind"], &said["unnamed"]), (&json!(kind), &json!(0)), "{kind} {width}: {said}");
    assert_eq!(said["sideways"], false, "{kind} {width} is wider than the screen: {said}");
    assert!(said["words"].as_u64() > Some(0), "{kind} says nothing in words: {said}");
    let tables = said["tables"].as_array().unwrap();
    assert!(!tables.is_empty(), "{kind}: {said}");
    for table in tables {
        let mut descending: Vec<Value> = table["descending"].as_array().unwrap().clone();
        descending.reverse();
        let mut sorted = [descending, table["ascending"].as_array().unwrap().clone()];
        sorted.iter_mut().for_each(|column| column.sort_by_key(Value::to_string));
        assert_eq!(sorted[0], sorted[1], "{kind} lost rows by sorting: {table}");
        assert!(
            table["sorts"].is_string() && table["none"] == 0 && table["some"].as_u64() > Some(0),
            "{kind}: {table}"
        );
    }
    // If there is a time axis, a quarter of it is selected, starting at half.
    if let Some(end) = said["whole"].as_f64() {
        let part = |key: &str| said[key].as_f64().unwrap() / end;
        assert!((part("from") - 0.5).abs() < 0.03 && (part("to") - 0.75).abs() < 0.03, "{kind} {width}: {said}");
        assert_eq!(said["redrawn"], true, "{kind} {width}: {said}");
    }
}

fn recording(said: &Value) {
    let programs = said["tables"].as_array().unwrap().iter().find(|table| table["id"] == "programs").unwrap();
    let names: Vec<String> = serde_json::from_value(programs["ascending"].clone()).unwrap();
    assert!(names.len() >= 16 && names.is_sorted() && names.first() != names.last(), "{names:?}");
    assert!(said["chosen"] == 1 && said["faded"].as_u64() > Some(5), "{said}");
    assert!(said["actions"].as_u64() < said["actionsOfAll"].as_u64(), "{said}");
    let sections: Vec<String> = serde_json::from_value(said["sections"].clone()).unwrap();
    for wanted in ["programs", "lanes", "nodes", "pages", "caches", "latency", "harms", "changes", "actions"] {
        assert!(sections.iter().any(|section| section == wanted), "{wanted}: {sections:?}");
    }
    let latency = &said["maps"][0];
    assert!(latency["id"] == "latency" && latency["next"].as_str().unwrap().contains("times idle"), "{latency}");
}

/// The map of addresses over time: each pair of threads is on its node, distinguished by colour.
fn map(said: &Value) {
    let heat = &said["maps"][0];
    assert!(heat["id"] == "heat" && heat["layers"] == 2 && heat["recoloured"] == true, "{heat}");
    let first = heat["first"].as_str().unwrap();
    assert!(first.starts_with("left, 0x101000 (1 page)") && heat["next"] != heat["first"], "{heat}");
    let sections: Vec<String> = serde_json::from_value(said["sections"].clone()).unwrap();
    for wanted in ["heat", "course", "structures", "mappings", "steps"] {
        assert!(sections.iter().any(|section| section == wanted), "{wanted}: {sections:?}");
    }
}

/// The results that the pages left in the title of the page around them.
fn title(browser: &str, page: &Path, folder: &Path) -> Value {
    let run = Command::new("timeout")
        .args(["60", browser, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,900", "--dump-dom"])
        .args(["--virtual-time-budget=20000", "--run-all-compositor-stages-before-draw"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("file://{}", page.display()))
        .stderr(Stdio::null())
        .output()
        .unwrap();
    let document = String::from_utf8(run.stdout).unwrap();
    let title = document.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next());
    let title = title.unwrap_or_else(|| panic!("no page: {document}")).replace("&lt;", "<").replace("&gt;", ">");
    serde_json::from_str(&title.replace("&nbsp;", "\u{a0}").replace("&amp;", "&"))
        .unwrap_or_else(|error| panic!("{error}: {title}"))
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
fn what_is_no_input_of_a_report_is_refused() {
    let (_folder, other) = file("other.html", "not a recording");
    isobar(&["report", &other]).refused(&["the page would overwrite its input: give -o FILE"]);
    isobar(&["report", &other, "-o", "/tmp/never.html"])
        .refused(&["is not a file that a report can show: expected a recording"]);
    let (_folder, row) = file("row.json", r#"{"policies": [], "seed": 1}"#);
    isobar(&["report", &row]).refused(&["row.json: missing field `repeat`: expected what `isobar sim --json` prints"]);
    isobar(&["report", &row, "--nodes", "2"])
        .refused(&["--nodes: is for a page trace", "is a simulation: leave it out"]);
    isobar(&["report", &row, "--figures", "."]).refused(&["--figures: is for a reproduction"]);
    let (_folder, page) = file("there.html", "");
    isobar(&["sim", &workload(), "--policy", "linux", "--report", &page])
        .refused(&["already exists: name another file"]);
    isobar(&["sim", &workload(), "--policy", "linux", "--report", "/tmp/never.html", "--timeline", "dino"])
        .refused(&["--timeline dino: is not among the compared policies: expected one of linux"]);
}
