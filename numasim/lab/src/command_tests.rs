use super::*;
use crate::experiment::Scale;
use crate::machine::scaled;

fn files() -> Files {
    Files {
        page_trace: false,
        resctrl: false,
        firmware: vec!["fw".into()],
        kernel: "vmlinuz".into(),
        initramfs: "out/initramfs".into(),
        plugin: Some("/p/libnumasim.so".into()),
        seed: 1,
        out: "out".into(),
    }
}

/// The whole command line of a machine of two nodes with two CPUs each. The fixture has one option
/// per line.
#[test]
fn a_small_machine_has_this_command_line() {
    let text = include_str!("../../machines/small-2x2.toml");
    let spec = Spec::parse(text, "small-2x2.toml").unwrap();
    let got = arguments(&spec, &files()).unwrap().join(" ");
    assert_eq!(got, include_str!("../fixtures/small-2x2.line").lines().collect::<Vec<_>>().join(" "));
}

#[test]
fn without_the_plugin_there_is_no_page() {
    let spec = scaled("nehalem-2x4", Scale::default()).unwrap();
    let got = arguments(&spec, &Files { plugin: None, ..files() }).unwrap().join(" ");
    assert!(!got.contains("ivshmem") && !got.contains("-plugin"), "{got}");
}

#[test]
fn a_guest_with_resctrl_sees_an_l1() {
    let spec = scaled("nehalem-2x4", Scale::default()).unwrap();
    let got = arguments(&spec, &Files { resctrl: true, ..files() }).unwrap().join(" ");
    assert!(got.contains("/page,l1=on"), "{got}");
}

#[test]
fn commas_in_paths_are_doubled() {
    assert_eq!(option(Path::new("a,b")), "a,,b");
}

#[test]
fn every_machine_that_ships_can_be_laid_out() {
    for name in crate::machine::shipped() {
        let spec = scaled(name, Scale::default()).unwrap();
        let line = arguments(&spec, &files()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let cpus = line.iter().filter(|word| word.starts_with("cpu,node-id")).count();
        assert_eq!(cpus, spec.cpus(), "{name}");
    }
}

/// The rows 1200, 2000 and 1500, 1000 give ratios of 16.7 one way and 15 the other. If one node has
/// no CPUs, only the other's row counts.
#[test]
fn distances_are_the_same_both_ways() {
    let text = include_str!("../../machines/small-2x2.toml");
    let text = text.replace("[[1200.0, 2000.0], [2000.0, 1200.0]]", "[[1200.0, 2000.0], [1500.0, 1000.0]]");
    let mut spec = Spec::parse(&text, "m.toml").unwrap();
    assert_eq!((distance(&spec, 0, 1), distance(&spec, 1, 0)), (16, 16));
    spec.node[1].cpus = "".parse().unwrap();
    assert_eq!((distance(&spec, 0, 1), distance(&spec, 1, 0)), (17, 17));
}

/// On `opteron-8x8` controllers have 15,000 MB/s and links 19,200 or 6,400, twentieths of which are
/// modelled. Nodes 0 and 1 are a package; the way from node 2 to node 0 has a slow link.
#[test]
fn bandwidth_is_that_of_the_way() {
    let spec = scaled("opteron-8x8", Scale::default()).unwrap();
    let of = |from, to| num::round(bandwidth(&spec, from, to));
    assert_eq!([of(0, 0), of(0, 1), of(0, 2), of(2, 0)], [750, 750, 320, 320]);
}

#[test]
fn uneven_caches_are_refused_with_the_remedy() {
    let text = include_str!("../../machines/small-2x2.toml");
    let text = text.replacen("cpus = \"0-1\"\nsize", "cpus = \"0,2\"\nsize", 1).replacen(
        "cpus = \"2-3\"\nsize",
        "cpus = \"1,3\"\nsize",
        1,
    );
    let spec = Spec::parse(&text, "m.toml").unwrap();
    let error = arguments(&spec, &files()).unwrap_err().to_string();
    assert!(error.contains("LLC 0 has 2, so LLC 1 must have 2-3"), "{error}");
}

#[test]
fn machines_on_which_nothing_boots_are_refused() {
    let text = include_str!("../../machines/small-2x2.toml");
    let changes = [
        ("memory_mib = 512", "memory_mib = 100", "200 MiB in all: Linux does not boot with less than 256 MiB"),
        ("clock_mhz = 100.0", "clock_mhz = 0.5", "`clock_mhz`: 0.5: Linux does not boot with less than 1 MHz"),
        ("mb_per_s = 1000.0", "mb_per_s = 0.1", "`node.mb_per_s`: 0.1"),
    ];
    for (from, to, said) in changes {
        let spec = Spec::parse(&text.replace(from, to), "m.toml").unwrap();
        let error = arguments(&spec, &files()).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

/// A socket has two dies, so that Linux sees two last-level caches on a node.
#[test]
fn chiplets_are_dies_of_a_socket() {
    let spec = scaled("epyc-7302-2x4", Scale::default()).unwrap();
    let got = arguments(&spec, &files()).unwrap().join(" ");
    assert!(got.contains("-smp 8,sockets=2,dies=2,cores=2,threads=1"), "{got}");
    assert!(got.contains("cpu,node-id=1,socket-id=1,die-id=1,core-id=1,thread-id=0"), "{got}");
}
