use super::{COLUMNS, MeasuredTable};
use crate::machine::find;
use proptest::prelude::*;
use std::fmt::Write;

/// A table of a program that has `misses` by ways, CPI 0.5 without and 40 cycles a miss, at 2 GHz.
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
    let error = MeasuredTable::parse("m.csv", text).unwrap_err().to_string();
    assert!(error.starts_with("m.csv: line ") && !error.contains(char::is_control), "{error}");
    error
}

#[test]
fn a_program_is_found_again_in_its_table() {
    let misses = [20.0, 15.0, 12.0, 10.0, 9.0, 8.0, 7.0, 6.5, 6.0, 5.8, 5.5];
    let text = with_header(&(table("b", &misses) + &table("a", &[10.0; 11])));
    let read = MeasuredTable::parse("m.csv", &text).unwrap();
    assert_eq!(read.names().collect::<Vec<_>>(), ["a", "b"]);
    assert!((read.rows("b").unwrap()[3].llcmpki - 10.0).abs() < 1e-12);
    let machine = find("skylake-2x20").unwrap();
    for name in ["a", "b"] {
        // From the slope for b, from the stall counter for a: 85 ns at 2 GHz are 170 cycles, 40 of which a miss shows: 4.25 overlap.
        let program = read.program(name, &machine).unwrap();
        assert!((program.mlp - 4.25).abs() < 0.01 && (program.base_cpi - 0.5).abs() < 1e-3, "{program:?}");
        assert!((program.write_back - 0.5).abs() < 1e-6 && (program.footprint_mib - 256.0).abs() < 1e-9, "{program:?}");
    }
    let curve = read.program("b", &machine).unwrap().mpki;
    assert!((curve.misses(2.5 * 1_048_576.0 * 4.0) * 1000.0 - 10.0).abs() < 1e-9, "a way of the Gold 6138 has 2.5 MB");
}

#[test]
fn order_of_lines_and_columns_does_not_matter_and_others_are_ignored() {
    let text = with_header(&table("a", &[3.0, 2.0, 1.0]));
    let swapped: Vec<_> =
        text.lines().map(|line| line.split(',').rev().chain(["x"]).collect::<Vec<_>>().join(",")).collect();
    let reordered = format!("\u{feff}{}\n{}\n{}\n{}\n", swapped[0], swapped[3], swapped[1], swapped[2]);
    assert_eq!(MeasuredTable::parse("m.csv", &reordered), MeasuredTable::parse("m.csv", &text));
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
    assert!(refused(&good.replacen("stalls_total", "ipc", 1)).contains("column `ipc` is there twice"));
    let without = [lines[0], lines[1], lines[3]].join("\n");
    assert!(
        refused(&without)
            .starts_with("m.csv: line 2: column `NR_WAYS`: `a`, which begins here, has no line for 2 of 1 to 3")
    );
    let twice = [lines[0], lines[1], lines[2], lines[3], lines[2]].join("\n");
    assert!(refused(&twice).starts_with("m.csv: line 5: column `NR_WAYS`: `a` with 2 ways is in line 3 already"));
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

#[test]
fn a_machine_with_fewer_ways_and_an_unknown_program_are_refused() {
    let read = MeasuredTable::parse("m.csv", &with_header(&table("astar", &[1.0; 12]))).unwrap();
    let told = |name, machine| read.program(name, &find(machine).unwrap()).unwrap_err().to_string();
    assert!(told("astar", "skylake-2x20").contains("`NR_WAYS` goes to 12; the LLC of the machine has 11"));
    assert!(told("atsar", "nehalem-2x4").contains("did you mean astar?"));
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in ".{0,200}") {
        if let Err(error) = MeasuredTable::parse("m.csv", &text) {
            prop_assert!(!error.to_string().contains(char::is_control));
        }
    }

    #[test]
    fn any_table_of_numbers_makes_a_program(
        rows in prop::collection::vec((1e-6..1e3f64, 0.0..1e4f64, 0.0..1e6f64, 0.0..1e6f64, 0.0..1e5f64, 0.0..1.0f64), 1..16)
    ) {
        let line = |(index, row): (usize, &(f64, f64, f64, f64, f64, f64))| {
            let (ipc, mpki, bandwidth, missed, used, stalls) = row;
            format!("a,{},{ipc},1,{mpki},1,1,{used},{bandwidth},{missed},0,{stalls},0,0\n", index + 1)
        };
        let text = with_header(&rows.iter().enumerate().map(line).collect::<String>());
        let read = MeasuredTable::parse("m.csv", &text).unwrap();
        let machine = find("nehalem-2x4").unwrap();
        match read.program("a", &machine) {
            Ok(program) => prop_assert!(program.base_cpi.is_finite() && program.mlp >= 1.0),
            Err(error) => prop_assert!(error.to_string().contains("a."), "{}", error),
        }
    }
}
