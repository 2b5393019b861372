//! `isobar pages` on profiles in the repository, on bad profiles, and on live processes.

use crate::support::{file, isobar, run};
use serde_json::{Value, json};
use std::process::{Command, Stdio};

const HEAD: &str = "page.address,alloc.thread,alloc.location,firsttouch.thread,firsttouch.location,structure.name";

fn example(name: &str) -> String {
    format!("{}/../../examples/pages/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn pages(path: &str, options: &str) -> crate::support::CommandOutput {
    let mut words = vec!["pages", path];
    words.extend(options.split_whitespace());
    isobar(&words)
}

/// Table 2 and figure 3 of the paper: what each node holds and serves.
#[test]
fn table_2_by_the_contract() {
    let found = pages(&example("table-2.csv"), "--nodes 4 --min-excl 0.96 --json").document();
    assert_eq!((&found["pages"], &found["accesses"], &found["dynamicity"]), (&json!(4), &json!(4052), &Value::Null));
    // 1000 + 1000 + 1000 + 1000 accesses come from the best nodes.
    assert!((found["exclusivity"].as_f64().unwrap() - 4000.0 / 4052.0).abs() < 1e-12);
    let first = &found["policies"]["first-touch"];
    assert_eq!((&first["b_pages"], &first["b_acc"]), (&json!(300.0), &json!(300.0)));
    assert_eq!(first["node_accesses"], json!([4052, 0, 0, 0]));
    let mixed = &found["policies"]["mixed"];
    assert_eq!(
        (&mixed["node_pages"], &mixed["b_pages"], &mixed["loc_pages"]),
        (&json!([1, 1, 1, 1]), &json!(0.0), &json!(75.0))
    );
    // Pages 0 to 3 are on nodes 2, 1, 0, 3.
    assert_eq!(mixed["node_accesses"], json!([1000, 1001, 1001, 1050]));
    assert_eq!(found["policies"].as_object().unwrap().len(), 8);
}

#[test]
fn threads_and_page_sizes_are_what_was_asked_for() {
    let two = pages(&example("table-2.csv"), "--nodes 2 --threads-to-nodes 1,0,1,0 --json").document();
    assert_eq!(two["policies"]["first-touch"]["node_accesses"], json!([0, 4052]));
    let large = pages(&example("matmul.csv"), "--nodes 4 --page-size 1G --json").document();
    assert_eq!((&large["pages"], &large["page_bytes"]), (&json!(2), &json!(1 << 30)));
    let small = pages(&example("matmul.csv"), "--nodes 4 --json").document();
    assert_eq!(large["accesses"], small["accesses"]);
    let swept = pages(&example("matmul.csv"), "--nodes 4 --sweep-min-excl --json").document();
    assert_eq!(swept["sweep"].as_array().unwrap().len(), 21);
    assert_eq!(swept["sweep"][0]["loc_app"], json!(100.0));
    assert_eq!(small["sweep"], Value::Null);
}

#[test]
fn the_matrix_product_is_explained() {
    let said = pages(&example("matmul.csv"), "--nodes 4");
    let text = said.done();
    for expected in ["stacks of T1-T3", "shared (", "Initialise C (matmul.c:2)", "* ", "T0 touched"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    // A command is made to be copied, so it is not broken into lines.
    let cut = |line: &&str| !line.starts_with("       isobar pages apply ");
    assert!(text.lines().filter(cut).all(|line| line.chars().count() <= 80), "{text}");
    let one = pages(&example("matmul.csv"), "--nodes 1");
    assert!(one.done().contains("There is one node"), "{}", one.out);
    assert!(pages(&example("matmul.csv"), "--nodes 64").done().contains("60 nodes run none"));
}

#[test]
fn figures_are_files() {
    let folder = tempfile::tempdir().unwrap();
    let figures = folder.path().join("new/figures");
    let path = figures.to_str().unwrap();
    pages(&example("matmul.csv"), &format!("--nodes 4 --plot {path}")).done();
    let drawn = std::fs::read_dir(&figures).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    assert_eq!(drawn.len(), 6, "{drawn:?}");
    assert!(drawn.iter().all(|path| std::fs::read_to_string(path).unwrap().contains("</svg>")));
}

#[test]
fn what_is_exported_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.csv");
    let path = path.to_str().unwrap();
    let read = pages(&example("matmul.csv"), &format!("--nodes 4 --json --export csv {path}")).document();
    let again = pages(path, "--nodes 4 --json").document();
    assert_eq!((&read["policies"], &read["structures"]), (&again["policies"], &again["structures"]));
    for form in ["csv", "parquet"] {
        let onto_itself = format!("--nodes 4 --export {form} {}/./out.csv", folder.path().display());
        pages(path, &onto_itself).refused(&["is the input file"]);
    }
    assert_eq!(pages(path, "--nodes 4 --json").document()["policies"], again["policies"], "it is still there");
    pages(path, "--nodes 4 --export arrow x").refused(&["--export arrow", "expected csv or parquet"]);
}

#[test]
fn bad_input_is_refused_in_one_line() {
    let refused = |text: &str, pieces: &[&str]| {
        let (_folder, path) = file("p.csv", text);
        pages(&path, "--nodes 4").refused(&[&["p.csv"], pieces].concat());
    };
    refused("", &["is empty"]);
    refused("not a trace at all\n", &["expected a trace", "numalize"]);
    refused("ISOBARTR\x07\0\0\0", &["a trace of version 7"]);
    refused(&format!("{HEAD},T0,T1\n1,0,,0,,a,1,-4\n"), &["line 2", "column 8", "`-4`", "expected a count"]);
    refused(&format!("{HEAD},T0,T1\n1,0,,0,,a,1\n"), &["line 2", "7 columns", "expected 8"]);
    let folder = tempfile::tempdir().unwrap();
    pages(folder.path().to_str().unwrap(), "--nodes 4").refused(&["is a folder"]);
    pages("/no/such/file", "--nodes 4").refused(&["/no/such/file"]);
    let table = example("table-2.csv");
    pages(&table, "--nodes 2 --threads-to-nodes 0,1").refused(&["--threads-to-nodes", "2 threads", "the file has 4"]);
    pages(&table, "--nodes 2 --threads-to-nodes 0,1,2,0").refused(&["thread 2 is on node 2"]);
    pages(&table, "--nodes 4 --page-size 1024").refused(&["table-2.csv", "of at least 4096"]);
    pages(&table, "--nodes 0").refused(&["--nodes"]);
    pages(&table, "--min-excl 90").refused(&["a part from 0 to 1"]);
    pages(&table, "--watch").refused(&["a process id"]);
    pages("4294967295", "--nodes 2").refused(&["no such file", "--watch"]);
    pages("2147483646", "--watch").refused(&["process 2147483646", "no such process"]);
}

#[test]
fn huge_counts_do_not_overflow_and_nothing_is_nan() {
    let most = u64::MAX;
    let (_folder, path) =
        file("p.csv", format!("{HEAD},T0,T1\n1,0,,0,,a,{most},{most}\n2,0,,0,,a,{most},0\n3,0,,1,,b,0,0\n"));
    let found = pages(&path, "--nodes 2 --json").document();
    assert!((found["accesses"].as_f64().unwrap() / 2.0_f64.powi(65) - 1.0).abs() < 1e-9, "{found}");
    assert_eq!(found["untouched_pages"], json!(1));
    let (_folder, path) = file("p.csv", format!("{HEAD},T0\n1,0,,0,,a,0\n"));
    let none = pages(&path, "--nodes 2 --json").document();
    assert_eq!((&none["exclusivity"], &none["policies"]["mixed"]["b_acc"]), (&Value::Null, &Value::Null));
    assert_eq!(none["advice"]["policy"], Value::Null);
}

#[test]
fn a_live_process_is_watched_until_it_ends() {
    let mut child = Command::new("sleep").arg("1.2").stdout(Stdio::null()).spawn().unwrap();
    let watched = run(&format!("pages {} --watch --interval 0.3 --count 100 --json", child.id()));
    child.wait().unwrap();
    if watched.err.contains("CONFIG_NUMA") {
        return;
    }
    assert_eq!(watched.code, Some(0), "{}", watched.err);
    assert!(watched.err.ends_with(&format!("isobar: process {} has ended\n", child.id())), "{}", watched.err);
    let looks = crate::support::documents(&watched.out);
    assert!((2..=8).contains(&looks.len()), "{}", watched.out);
    for look in looks {
        let sum = |counts: &Value| counts.as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum::<u64>();
        let kinds: u64 = look["mappings"].as_object().unwrap().values().map(sum).sum();
        assert!(kinds > 0 && kinds == sum(&look["pages"]), "{look}");
        assert_eq!((&look["name"], look["threads"].as_u64()), (&json!("sleep"), Some(1)));
        assert_eq!(look["expected_remote_percent"].is_null(), look["expected_remote_missing"].is_string());
    }
}
