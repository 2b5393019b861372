use super::*;
use crate::args::{Args, Verb};
use clap::Parser;

/// The files of a folder, read as `numasim experiment` reads them.
fn read(files: &[(&str, String)]) -> Vec<Read> {
    let folder = tempfile::tempdir().unwrap();
    let one = |(file, text): &(&str, String)| {
        let path = folder.path().join(file);
        std::fs::write(&path, text).unwrap();
        let Verb::Experiment(args) = Args::parse_from(["numasim", "experiment", "x.toml"]).verb else {
            panic!("another verb")
        };
        Read { file: PathBuf::from(file), ..Read::of(&path, &args).unwrap() }
    };
    files.iter().map(one).collect()
}

fn text(name: &str, more: &str) -> String {
    format!(
        "name = \"{name}\"\nmachine = \"small-2x2\"\n{more}\n[[program]]\nname = \"a\"\nrun = \"chase\"\n\
         [[program]]\nname = \"b\"\nrun = \"chase\"\n[[contender]]\nkind = \"linux\"\nnuma_balancing = true\n"
    )
}

/// They would share a folder, in which boots that run side by side write the same files.
#[test]
fn two_experiments_of_one_name_are_refused() {
    let same = read(&[("one.toml", text("wrong node", "")), ("two.toml", text("wrong node", ""))]);
    assert_eq!(
        distinct(&same).unwrap_err().to_string(),
        "two.toml: name: an experiment is called `wrong node`, as in one.toml: give each a name of its own"
    );
    let alike = read(&[("one.toml", text("wrong node", "")), ("two.toml", text("wrong-node", ""))]);
    let problem = distinct(&alike).unwrap_err().to_string();
    assert!(problem.contains("`wrong-node`, and one there `wrong node`, as in one.toml"), "{problem}");
    assert!(distinct(&read(&[("one.toml", text("x", "")), ("two.toml", text("y", ""))])).is_ok());
}

/// Two experiments may have programs of the same names.
#[test]
fn programs_that_run_one_at_a_time_have_folders_of_their_own() {
    let apart_in = |name| text(name, "one_at_a_time = true");
    let read = read(&[("one.toml", apart_in("x")), ("two.toml", apart_in("y"))]);
    distinct(&read).unwrap();
    let folders: Vec<String> = read.iter().flat_map(apart).map(|one| slug(&one.name)).collect();
    assert_eq!(folders, ["x-a", "x-b", "y-a", "y-b"]);
}
