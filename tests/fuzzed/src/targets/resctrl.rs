//! The text of resctrl files. Every parser is given every input: the schemata of a group, the
//! counts of a monitor, the list of its tasks, and the files of the `info` folder, `PATH=TEXT`
//! separated by `;` (they become an archive in memory). Accepted schemata are printed as the kernel
//! takes them and read back. A share of the bandwidth that the hardware would take stays within 100
//! per cent.

use crate::check::{accepted, archive};
use isobar_linux::kernel::resctrl_info::Info;
use isobar_linux::kernel::schemata::Schemata;
use isobar_linux::resctrl::{monitors, root};
use isobar_linux::tree::Tree;
use isobar_model::topology::BandwidthShares;
use std::path::Path;

/// Checks one input.
pub fn run(bytes: &[u8]) {
    // As when the files are read: bytes that are not text are replaced.
    let text = String::from_utf8_lossy(bytes);
    check_schemata(&text);
    check_monitors(&text);
    check_info(&text);
}

fn check_schemata(text: &str) {
    let Some(schemata) = accepted(Schemata::parse(text)) else { return };
    let printed = schemata.to_string();
    let again = Schemata::parse(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"));
    assert_eq!(again, schemata, "the printed schemata are others: {printed}");
    assert!(schemata.beyond(&schemata).is_empty(), "nothing has to be written for what stands");
    assert_eq!(schemata.beyond(&Schemata::default()), schemata, "all has to be written where nothing stands");
    for resource in ["L2", "L3", "L3CODE", "L3DATA", "MB", "SMBA"] {
        for domain in schemata.domains(resource) {
            assert!(schemata.get(resource, domain).is_some(), "{resource}: domain {domain} without a value");
        }
    }
}

fn check_monitors(text: &str) {
    if let Some(bytes) = monitors::value(text) {
        assert_eq!(monitors::value(&format!("{bytes}\n")), Some(bytes));
    }
    if let Some(domain) = monitors::domain(text) {
        assert_eq!(monitors::domain(&format!("mon_L3_{domain:02}")), Some(domain));
    }
    let tasks = root::tasks(text);
    assert!(tasks.len() <= text.lines().count());
    let printed: String = tasks.iter().map(|tid| format!("{tid}\n")).collect();
    assert_eq!(root::tasks(&printed), tasks, "the printed tasks are others");
}

fn check_info(text: &str) {
    let archive = archive(text, |path| format!("sys/fs/resctrl/{path}"));
    let Ok(tree) = Tree::from_archive_bytes(Path::new("input"), &archive) else { return };
    for level in [2, 3] {
        accepted(Info::read(&tree, "sys/fs/resctrl/", level)).iter().for_each(check);
    }
}

fn check(info: &Info) {
    assert_eq!(info.cache.is_some(), matches!(info.resources.len(), 1..=3), "{info:?}");
    if let Some(bandwidth) = &info.bandwidth {
        [0, 1, 50, 100, u32::MAX].iter().for_each(|percent| check_share(bandwidth, *percent));
    }
}

fn check_share(bandwidth: &BandwidthShares, percent: u32) {
    let rounded = bandwidth.rounded(percent);
    assert!(rounded <= 100 && rounded >= percent.min(100), "{percent} % became {rounded} %: {bandwidth:?}");
    assert_eq!(bandwidth.rounded(rounded), rounded, "a step is no step: {bandwidth:?}");
}
