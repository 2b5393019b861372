use super::{COLUMNS, read};
use proptest::prelude::*;
use std::fmt::Write;

/// A table of a program with the given `misses` by ways. Its CPI is 0.5 without misses plus 40
/// cycles per miss, at 2 GHz.
fn table(name: &str, misses: &[f64]) -> String {
    let mut text = String::new();
    for (index, mpki) in misses.iter().enumerate() {
        let cpi = 0.5 + mpki / 1000.0 * 40.0;
        let mbps = mpki / 1000.0 / cpi * 2e9 * 64.0 / 1e6;
        let _ = writeln!(
            text,
            "{name},{},{},{},{mpki},1,{},28000,{},{mbps},0.1,{},0.3,0",
            index + 1,
            1.0 / cpi,
            2.0 * mpki,
            mpki / cpi,
            1.5 * mbps,
            mpki / 1000.0 * 40.0 / cpi
        );
    }
    text
}

fn with_header(rows: &str) -> String {
    format!("{}\n{rows}", COLUMNS.join(","))
}

fn refused(text: &str) -> String {
    let error = read("m.csv", text).unwrap_err().to_string();
    assert!(error.starts_with("m.csv: line ") && !error.contains(char::is_control), "{error}");
    error
}

#[test]
fn programs_are_read_row_by_row() {
    let text = with_header(&(table("b", &[20.0, 15.0, 12.0, 10.0]) + &table("a", &[10.0; 4])));
    let read = read("m.csv", &text).unwrap();
    assert_eq!(read.keys().collect::<Vec<_>>(), ["a", "b"]);
    let last = read["b"].rows()[3];
    assert!((last.llcmpki - 10.0).abs() < 1e-12 && (last.llc_usage_kb - 28_000.0).abs() < 1e-12, "{last:?}");
}

#[test]
fn order_of_lines_and_columns_does_not_matter_and_others_are_ignored() {
    let text = with_header(&table("a", &[3.0, 2.0, 1.0]));
    let swapped: Vec<_> =
        text.lines().map(|line| line.split(',').rev().chain(["x"]).collect::<Vec<_>>().join(",")).collect();
    let reordered = format!("\u{feff}{}\n{}\n{}\n{}\n", swapped[0], swapped[3], swapped[1], swapped[2]);
    assert_eq!(read("m.csv", &reordered), read("m.csv", &text));
}

#[test]
fn what_is_wrong_is_named_with_line_and_column() {
    let good = with_header(&table("a", &[3.0, 2.0, 1.0]));
    let lines: Vec<_> = good.lines().collect();
    assert!(
        refused(&good.replace("llcmpki", "llcmpk"))
            .starts_with("m.csv: line 1: column `llcmpki` is missing; expected BENCH,")
    );
    assert!(refused(&good.replace("llcrpki", "llcmpki")).contains("column `llcrpki` is missing"));
    assert!(refused(&good.replacen("stalls_total", "ipc", 1)).contains("column `ipc` occurs twice"));
    let without = [lines[0], lines[1], lines[3]].join("\n");
    assert!(
        refused(&without)
            .starts_with("m.csv: line 2: column `NR_WAYS`: `a`, which begins here, has no line for 2 of 1 to 3")
    );
    let twice = [lines[0], lines[1], lines[2], lines[3], lines[2]].join("\n");
    assert!(refused(&twice).starts_with("m.csv: line 5: column `NR_WAYS`: `a` with 2 ways is already in line 3"));
    assert!(
        refused(&good.replace(",28000,", ",-28000,"))
            .starts_with("m.csv: line 2: column `llc_usage_kb`: is `-28000`; it must be")
    );
    assert!(refused(&good.replace(",28000,", ",nan,")).contains("`nan`"));
    assert!(refused(&good.replace(",28000,", ",,")).contains("is empty"));
    assert!(refused(&good.replace("a,2,", "a,0,")).contains("line 3: column `NR_WAYS`: is `0`"));
    assert!(refused(&good.replace("a,2,", ",2,")).contains("line 3: column `BENCH`"));
    assert!(refused(&good.replace(",28000,", ",")).contains("line 2: has 13 values; the header has 14"));
    assert!(refused(lines[0]).contains("holds no program"));
    assert!(refused("").contains("missing"));
    assert!(refused(&format!("{good}b\u{1b}[2J\n")).contains("line 5"));
}

#[test]
fn a_program_shorter_than_the_others_lacks_a_way() {
    let text = with_header(&(table("a", &[3.0, 2.0, 1.0]) + &table("b", &[3.0, 2.0])));
    assert!(refused(&text).contains("line 5: column `NR_WAYS`: `b`, which begins here, has no line for 3"));
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in ".{0,200}") {
        if let Err(error) = read("m.csv", &text) {
            prop_assert!(!error.to_string().contains(char::is_control));
        }
    }
}
