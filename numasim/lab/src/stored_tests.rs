use super::*;
use crate::experiment::Scale;
use crate::machine;
use crate::plan::{Options, order};

fn stored() -> Stored {
    let text = include_str!("../fixtures/mini.toml");
    let mut experiment = Experiment::parse(text, "mini.toml").unwrap();
    let spec = machine::scaled(&experiment.machine, Scale::default()).unwrap();
    let options = Options { only: vec!["dino".into()], plain: false };
    let order = order(&experiment, &spec, 0, &options).unwrap();
    experiment.contender.retain(|one| ["linux", "dino"].contains(&one.name().as_str()));
    let lines =
        include_str!("../fixtures/mini-1.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    Stored {
        numasim_boot: VERSION,
        experiment,
        time_scale: 20.0,
        cache_scale: 16.0,
        seed: 7,
        identity: Identity { kernel: "k".into(), ..Identity::default() },
        command: "numasim experiment mini.toml --seed 7 --repeats 1".into(),
        commit: "abc".into(),
        qemu_version: "10.0.2".into(),
        host_seconds: 12.5,
        order,
        lines,
    }
}

#[test]
fn a_boot_is_read_as_it_was_written_without_files_of_daemons() {
    let folder = tempfile::tempdir().unwrap();
    let mut one = stored();
    let at = path(folder.path(), &one.experiment.name, one.seed, &one.identity);
    assert!(read(&at).unwrap().is_none());
    let whole = one.clone();
    let brought = numasim_guest::wire::GuestFile { run: "r".into(), name: "n".into(), content: "00".into() };
    one.lines.push(Line::File(Box::new(brought)));
    write(&at, &one).unwrap();
    assert_eq!(read(&at).unwrap().unwrap(), whole);
    assert_eq!(whole.kernel(), "6.12.95+deb12-cloud-amd64");
    assert_eq!(all(folder.path()).unwrap().len(), 1, "nothing else is left in the folder");
    assert!(at.file_name().unwrap().to_string_lossy().starts_with("mini-s7-"));
}

#[test]
fn what_is_no_result_is_named_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let none = all(folder.path()).unwrap_err().to_string();
    assert!(none.contains("holds no results: `numasim experiment FILE --results DIR`"), "{none}");
    let at = folder.path().join("x.json");
    std::fs::write(&at, "{\"half").unwrap();
    let half = all(folder.path()).unwrap_err().to_string();
    assert!(half.contains("x.json: is not the result of a boot") && half.contains("remove it"), "{half}");
    write(&at, &Stored { numasim_boot: 9, ..stored() }).unwrap();
    assert!(read(&at).unwrap_err().to_string().contains("version 9, not 1"));
}

#[test]
fn names_are_fit_for_every_file_system() {
    assert_eq!([slug("page-mappings, cg"), slug("a b/c"), slug("//")], ["page-mappings-cg", "a-b-c", "unnamed"]);
}
