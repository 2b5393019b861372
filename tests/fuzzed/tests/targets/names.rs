//! libFuzzer's programs, the table and the folders of seeds have the same names.

use isobar_fuzzed::runner::read;
use isobar_fuzzed::table;
use libtest_mimic::{Failed, Trial};
use std::collections::BTreeSet;
use std::path::Path;

/// The tests.
pub fn trials() -> [Trial; 2] {
    [Trial::test("libfuzzer_has_a_program_for_each_target", programs), Trial::test("each_target_has_seeds", seeds)]
}

fn names() -> BTreeSet<String> {
    table::TARGETS.iter().map(|target| target.name.to_owned()).collect()
}

fn programs() -> Result<(), Failed> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/Cargo.toml");
    let manifest: toml::Table = std::fs::read_to_string(manifest)?.parse()?;
    let programs = manifest["bin"].as_array().unwrap();
    let name = |program: &toml::Value| program["name"].as_str().unwrap().to_owned();
    let programs: Vec<String> = programs.iter().map(name).collect();
    assert_eq!(programs.len(), names().len(), "a name is there twice");
    // As `fuzz/fuzz_targets/any.rs` does, which is built only where it is needed.
    programs.iter().for_each(|name| isobar_fuzzed::run(name, b""));
    assert_eq!(programs.into_iter().collect::<BTreeSet<_>>(), names());
    Ok(())
}

fn seeds() -> Result<(), Failed> {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
    let folder = |entry: std::io::Result<std::fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().into_owned());
    let folders = std::fs::read_dir(&seeds)?.map(folder).collect::<std::io::Result<BTreeSet<_>>>()?;
    assert_eq!(folders, names());
    for name in folders {
        let inputs = read(&seeds.join(&name))?;
        assert!(!inputs.is_empty() && inputs.iter().all(|input| !input.is_empty()), "{name}: no seed, or an empty one");
    }
    Ok(())
}
