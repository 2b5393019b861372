//! The text of resctrl files. Every parser is given every input: the schemata of a group, the
//! counts of a monitor, the list of its tasks, and the files of the `info` folder, `PATH=TEXT`
//! separated by `;` (they become an archive in memory). Schemata that are accepted are printed as
//! the kernel takes them and read back; a share of the bandwidth that the hardware would take stays
//! within 100 per cent.

#![no_main]

use isobar_linux::kernel::resctrl_info::{BandwidthInfo, Info};
use isobar_linux::resctrl::schemata::Schemata;
use isobar_linux::resctrl::{monitors, root};
use isobar_linux::tree::Tree;
use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    // As the files are read: what is no text is replaced.
    let text = String::from_utf8_lossy(bytes);
    check_schemata(&text);
    check_monitors(&text);
    check_info(&text);
});

fn check_schemata(text: &str) {
    let schemata = match Schemata::parse(text) {
        Ok(schemata) => schemata,
        Err(error) => {
            assert!(!error.to_string().contains(char::is_control), "{error:?}");
            return;
        }
    };
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
    let Ok(tree) = Tree::from_archive_bytes(Path::new("input"), &archive(text)) else { return };
    for level in [2, 3] {
        match Info::read(&tree, "sys/fs/resctrl/", level) {
            Ok(info) => check(&info),
            Err(error) => assert!(!error.to_string().contains(char::is_control), "{error:?}"),
        }
    }
}

fn check(info: &Info) {
    if let Some(cache) = &info.cache {
        assert!(matches!(cache.resources.len(), 1..=3), "{cache:?}");
    }
    if let Some(bandwidth) = &info.bandwidth {
        [0, 1, 50, 100, u64::MAX].iter().for_each(|percent| check_share(bandwidth, *percent));
    }
    if let Some(monitoring) = &info.monitoring {
        assert!(monitoring.features.iter().all(|feature| !feature.is_empty() && !feature.contains('\n')));
        let _ = monitoring.counts_bytes();
    }
}

fn check_share(bandwidth: &BandwidthInfo, percent: u64) {
    let rounded = bandwidth.rounded(percent);
    assert!(rounded <= 100 && rounded >= percent.min(100), "{percent} % became {rounded} %: {bandwidth:?}");
    assert_eq!(bandwidth.rounded(rounded), rounded, "a step is no step: {bandwidth:?}");
}

/// Paths are below `sys/fs/resctrl/`.
fn archive(text: &str) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, content) in text.split(';').filter_map(|file| file.split_once('=')).take(200) {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o444);
        let _ = archive.append_data(&mut header, format!("sys/fs/resctrl/{}", path.trim()), content.as_bytes());
    }
    archive.into_inner().unwrap_or_default()
}
