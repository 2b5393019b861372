use super::Profiles;
use super::table::COLUMNS;
use isobar_model::profile::Property;

fn read(file: &str, text: &str) -> Profiles {
    super::read(file, text).unwrap()
}

fn refused(file: &str, text: &str) -> String {
    let said = super::read(file, text).unwrap_err().to_string();
    assert!(said.starts_with(file) && !said.contains(char::is_control), "{said}");
    said
}

fn table(rows: &str) -> String {
    format!("{}\n{rows}", COLUMNS.join(","))
}

#[test]
fn a_measured_table_is_taken_column_by_column() {
    let profiles = read(
        "m.csv",
        &table("a,1,0.5,40,30,20,15,2000,900,800,0.6,0.5,0.7,0.1\na,2,1,40,10,40,10,4000,500,400,0.3,0.2,0.4,0.1\n"),
    );
    let a = profiles.profile("a").unwrap();
    assert_eq!(a.column(Property::Slowdown), [2.0, 1.0]);
    assert_eq!((a.column(Property::Bandwidth), a.column(Property::Llcmpkc)), (&[900.0, 500.0][..], &[15.0, 10.0][..]));
    assert_eq!((profiles.ways(), profiles.remarks(&["a"], 2)), (2, Vec::new()));
    assert!(!profiles.is_relative("a"));
}

#[test]
fn without_a_bandwidth_monitor_misses_stand_in_and_a_remark_says_so() {
    let table =
        |monitor: &str, misses: &str| table(&format!("a,1,0.5,40,30,20,15,2000,{monitor},{misses},0.6,0.5,0.7,0.1\n"));
    let profiles = read("m.csv", &table("0", "800"));
    assert_eq!(profiles.profile("a").unwrap().column(Property::Bandwidth), [800.0]);
    assert!(profiles.remarks(&["a"], 1)[0].contains("bandwidth is taken from llcm_bandwidth"));
    assert!(read("m.csv", &table("0", "0")).remarks(&["a"], 1)[0].contains("no bandwidth is known"));
}

#[test]
fn curves_may_leave_out_what_follows_from_others() {
    let profiles = read(
        "p.toml",
        "[[program]]\nname = \"a\"\nipc = [0.5, 1.0]\nllcmpki = [30, 10]\nbandwidth_mbps = [900, 500]\n",
    );
    let a = profiles.profile("a").unwrap();
    // 30 misses per 1000 instructions at half an instruction per cycle.
    assert_eq!(a.column(Property::Llcmpkc), [15.0, 10.0]);
    let by_cycles = read("p.toml", "[[program]]\nname = \"a\"\nipc = [0.5, 1.0]\nllcmpkc = [15, 10]\n");
    assert_eq!(by_cycles.profile("a").unwrap().column(Property::Llcmpki), [30.0, 10.0]);
    assert!(by_cycles.remarks(&["a"], 2)[0].contains("a without bandwidth_mbps and llcm_bandwidth"));
    let json = r#"{"program": [{"name": "a", "ipc": [0.5, 1.0], "llcmpki": [30, 10], "bandwidth_mbps": [900, 500]}]}"#;
    assert_eq!(read("p.json", json).profile("a"), Some(a));
}

#[test]
fn slowdowns_alone_are_relative() {
    let profiles = read("p.toml", "[[program]]\nname = \"a\"\nslowdown = [2.0, 1.25, 1.0]\nllcmpkc = [15, 10, 5]\n");
    assert_eq!(profiles.profile("a").unwrap().column(Property::Slowdown), [2.0, 1.25, 1.0]);
    assert!(profiles.is_relative("a"));
    assert!(read("p.toml", "[[program]]\nname = \"a\"\nipc = [2.0, 1.25]\n").is_relative("a"), "misses are not known");
}

#[test]
fn curves_that_do_not_hold_together_are_refused() {
    let good = "[[program]]\nname = \"a\"\nipc = [0.5, 1.0]\nllcmpki = [30, 10]\n";
    let bad = |from: &str, to: &str| refused("p.toml", &good.replace(from, to));
    assert!(bad("[30, 10]", "[30]").contains("program `a`: `llcmpki` has 1 values, `ipc` has 2"));
    assert!(bad("0.5", "0").contains("program `a`: `ipc` holds 0; every value must be above 0"));
    assert!(bad("0.5", "nan").contains("`ipc` holds NaN"));
    assert!(bad("30", "-3").contains("program `a`, 1 ways: llcmpki is -3"));
    assert!(bad("ipc = [0.5, 1.0]", "").contains("`ipc` is missing"));
    assert!(bad("[0.5, 1.0]", "[]").contains("`ipc` has 0 values"));
    assert!(bad("llcmpki", "llcmpk").starts_with("p.toml: line 4: unknown field `llcmpk`"));
    assert!(refused("p.toml", "").contains("holds no program"));
    assert!(refused("p.toml", &good.repeat(2)).contains("program `a` occurs twice"));
    assert!(refused("p.json", "{").contains("EOF"));
}

const SEEN: &str = r#"{"time": 12, "interval": 1, "machine": {"nodes": [{"id": 0}], "llcs": [{"id": 0, "ways": 3, "cpus": [0], "nodes": [0]}],
 "cpus": [{"id": 0, "core": 0, "llc": 0, "node": 0}], "distances": [[10]]}, "latency_ns": null, "latency_cycles": null,
 "processes": [{"pid": 1, "name": "a", "slowdown_by_ways": [1.5, 1.25, 1.0], "threads": [{"tid": 1, "cpu": 0, "instructions": 2000,
 "cycles": 4000, "llc_misses": 40, "bandwidth": 250e6}]}, {"pid": 2, "name": "b", "threads": []}]}"#;

#[test]
fn curves_of_a_running_machine_come_from_its_observations() {
    let line = SEEN.replace('\n', "");
    let profiles = read("o.jsonl", &format!("{}\n\n{line}\n", line.replace("1.5", "1.7")));
    let a = profiles.profile("a").unwrap();
    assert_eq!((a.column(Property::Slowdown), a.column(Property::Llcmpkc)), (&[1.5, 1.25, 1.0][..], &[10.0; 3][..]));
    assert_eq!((a.column(Property::Bandwidth), profiles.names().count()), (&[250.0; 3][..], 1));
    assert!(profiles.remarks(&["a"], 3)[0].contains("are used for every number of ways"));
    assert!(
        refused("o.jsonl", &line.replace("[1.5, 1.25, 1.0]", "null")).contains("no process has `slowdown_by_ways`")
    );
    assert!(refused("o.jsonl", "{}\n").starts_with("o.jsonl: line 1: "));
}
