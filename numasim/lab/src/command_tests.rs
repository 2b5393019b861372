use super::*;
use crate::experiment::Scale;
use crate::machine::scaled;

fn files() -> Files {
    Files {
        page_trace: false,
        firmware: vec!["fw".into()],
        kernel: "vmlinuz".into(),
        initramfs: "out/initramfs".into(),
        plugin: Some("/p/libnumasim.so".into()),
        seed: 1,
        out: "out".into(),
    }
}

/// The whole line of a machine of two nodes with two CPUs each; the file has an option a line.
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
