use super::*;
use crate::experiment::Scale;
use crate::recipe::{Recipe, named_by};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const TEXT: &str = r#"
name = "t"
machine = "nehalem-2x4"
seed = 0
[[program]]
name = "chase"
run = "chase --size-kib 64"
instances = 2
start = { node = 1 }
run_on = "0-1"
begin_on = "6-7"
[[program]]
name = "noise"
run = "cpu"
background = true
[[contender]]
kind = "linux"
numa_balancing = true
[[contender]]
kind = "numactl"
bind = { chase = { cpus_of = 1, memory_of = 0 } }
[[contender]]
kind = "daemon"
name = "dino"
run = "mover --config /etc/mover.toml {pids}"
bring = ["/tmp/run"]
[files]
"/etc/mover.toml" = "counters = true"
"/etc/other" = "x"
[plain_files]
"/etc/mover.toml" = "counters = false"
"#;

fn spec() -> Spec {
    crate::machine::scaled("nehalem-2x4", Scale::default()).unwrap()
}

fn ids(repeat: u32, options: &Options) -> Vec<String> {
    let experiment = Experiment::parse(TEXT, "t.toml").unwrap();
    order(&experiment, &spec(), repeat, options).unwrap().runs.into_iter().map(|run| run.id).collect()
}

#[test]
fn programs_run_alone_first_then_contenders_in_turn() {
    let all = Options::default();
    assert_eq!(ids(0, &all), ["alone/chase", "under/linux", "under/numactl", "under/dino"]);
    assert_eq!(ids(1, &all), ["alone/chase", "under/numactl", "under/dino", "under/linux"]);
    assert_eq!(ids(2, &all), ["alone/chase", "under/dino", "under/linux", "under/numactl"]);
    assert_eq!(ids(3, &all), ids(0, &all));
    let some = Options { only: vec!["din".into()], plain: false };
    assert_eq!(ids(0, &some), ["alone/chase", "under/linux", "under/dino"]);
}

#[test]
fn jobs_have_the_places_that_were_asked_for() {
    let experiment = Experiment::parse(TEXT, "t.toml").unwrap();
    let order = order(&experiment, &spec(), 0, &Options::default()).unwrap();
    let linux = &order.runs[1].jobs;
    assert_eq!(linux.iter().map(|job| job.name.as_str()).collect::<Vec<_>>(), ["chase#1", "chase#2", "noise"]);
    assert_eq!(
        (linux[0].setup_cpus.as_slice(), linux[0].run_cpus.as_deref()),
        ([4, 5, 6, 7].as_slice(), Some([0, 1].as_slice()))
    );
    assert_eq!((&linux[0].begin_cpus, &linux[2].begin_cpus), (&Some(vec![6]), &None));
    assert_eq!(linux[1].begin_cpus, Some(vec![7]));
    assert!(linux[2].background && linux[2].run_cpus.is_none());
    let by_hand = &order.runs[2].jobs[0];
    assert_eq!(by_hand.argv, ["numactl", "--cpunodebind=1", "--membind=0", "chase", "--size-kib", "64"]);
    assert!(by_hand.placed_by_hand && !order.runs[2].jobs[2].placed_by_hand);
    let alone = &order.runs[0].jobs[0];
    assert_eq!((alone.setup_cpus.as_slice(), program_of(&linux[1].name)), ([0, 1, 2, 3].as_slice(), "chase"));
}

#[test]
fn instances_have_places_of_their_own() {
    let bind = "bind = { chase = { cpus_of = 1, memory_of = 0 } }";
    let each = "bind_each = { chase = [{ cpus_of = 1 }, { options = \"--interleave=all\" }] }";
    let experiment = Experiment::parse(&TEXT.replace(bind, each), "t.toml").unwrap();
    let order = order(&experiment, &spec(), 0, &Options::default()).unwrap();
    let option = |at: usize| order.runs[2].jobs[at].argv[1].as_str();
    assert_eq!((option(0), option(1)), ("--cpunodebind=1", "--interleave=all"));
    let refused = |each: &str| Experiment::parse(&TEXT.replace(bind, each), "t.toml").unwrap_err().to_string();
    assert!(refused("bind_each = { chase = [] }").contains("bind_each of `chase`"));
    assert!(refused("bind_each = { hurd = [{ cpus_of = 1 }] }").contains("no program is called `hurd`"));
}

#[test]
fn a_daemon_gets_its_command_and_the_files_for_the_case() {
    let experiment = Experiment::parse(TEXT, "t.toml").unwrap();
    let daemon = |plain| {
        let order = order(&experiment, &spec(), 0, &Options { only: Vec::new(), plain }).unwrap();
        order.runs[3].regime.daemon.clone().unwrap()
    };
    assert_eq!(daemon(false).argv, ["mover", "--config", "/etc/mover.toml", "{pids}"]);
    assert_eq!(daemon(false).bring, ["/tmp/run"]);
    let files = |plain| daemon(plain).files.into_values().collect::<Vec<_>>();
    assert_eq!(
        (files(false), files(true)),
        (experiment.files.values().cloned().collect(), vec!["counters = false".into(), "x".into()])
    );
}

#[test]
fn a_program_that_binds_its_threads_is_left_alone_and_its_contender_has_its_command() {
    let text = TEXT.replace(
        "instances = 2\nstart = { node = 1 }\nrun_on = \"0-1\"\nbegin_on = \"6-7\"",
        "each_thread_on = \"0-2,7\"",
    );
    let text = text.replace("numa_balancing = true", "numa_balancing = true\nbefore = \"mover /host/{program} {pid}\"");
    let text = format!("huge_pages = false\n{text}");
    let experiment = Experiment::parse(&text, "t.toml").unwrap();
    let order = order(&experiment, &spec(), 0, &Options::default()).unwrap();
    assert_eq!(order.runs[0].id, "under/linux", "it is not run alone");
    let job = &order.runs[0].jobs[0];
    assert_eq!(job.argv, ["chase", "--size-kib", "64", "--each-on", "0,1,2,7"]);
    assert!(job.placed_by_hand && job.run_cpus.is_none());
    assert_eq!(order.runs[0].regime.before, ["mover", "/host/{program}", "{pid}"]);
    assert!(order.runs[2].regime.before.is_empty());
    assert!(order.runs.iter().all(|run| run.regime.no_huge_pages));
    let beyond = Experiment::parse(&text.replace("0-2,7", "0-8"), "t.toml").unwrap();
    let error = super::order(&beyond, &spec(), 0, &Options::default()).unwrap_err();
    assert!(error.contains("program.each_thread_on = \"0-8\""), "{error}");
}

#[test]
fn places_that_the_machine_lacks_are_refused() {
    let wrong = |from: &str, to: &str| {
        let experiment = Experiment::parse(&TEXT.replace(from, to), "t.toml").unwrap();
        order(&experiment, &spec(), 0, &Options::default()).unwrap_err()
    };
    assert!(wrong("run_on = \"0-1\"", "run_on = \"7-9\"").contains("no CPU 8"));
    assert!(wrong("node = 1 }", "node = 5 }").contains("has 2 nodes"));
    assert!(wrong("cpus_of = 1", "cpus_of = 4").contains("bind.cpus_of"));
    assert!(wrong("begin_on = \"6-7\"", "begin_on = \"8\"").contains("program.begin_on"));
    assert!(wrong("run_on = \"0-1\"", "run_on = \"x\"").contains("is no CPU list"));
}

/// Each can be planned, runs programs that exist, and lets isobar manage these programs and no
/// others.
#[test]
fn experiments_that_ship_can_be_planned() {
    let numasim = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let files = |folder: &str| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(format!("{numasim}/{folder}")).unwrap().map(|entry| entry.unwrap().path());
        entries
            .filter(|path| path.extension().is_some_and(|end| end == "toml") && !path.ends_with("field.toml"))
            .collect()
    };
    let (few, tournament) = (files("experiments"), files("experiments/tournament"));
    assert!(few.len() >= 5 && !tournament.is_empty());
    for path in few.into_iter().chain(tournament) {
        let file = path.display();
        let experiment = Experiment::parse(&std::fs::read_to_string(&path).unwrap(), &file.to_string()).unwrap();
        let spec = crate::machine::scaled(&experiment.machine, experiment.scale).unwrap();
        order(&experiment, &spec, 0, &Options::default()).unwrap_or_else(|error| panic!("{file}: {error}"));
        for program in &experiment.program {
            let name = program.run.split(' ').next().unwrap().rsplit('/').next().unwrap();
            assert!(Path::new(&format!("{numasim}/programs/{name}.c")).exists(), "{file}: no program is called {name}");
            if let Some(recipe) = named_by(&program.run) {
                let recipe = Recipe::read(recipe).unwrap_or_else(|error| panic!("{file}: {error}"));
                assert!(recipe.sources.iter().all(|source| source.exists()), "{recipe:?}");
            }
        }
        let commands: BTreeSet<&str> = experiment.program.iter().flat_map(|program| program.commands()).collect();
        for (at, text) in experiment.files.iter().chain(&experiment.plain_files) {
            let settings: toml::Table = toml::from_str(text).unwrap();
            let only = settings["manage"]["only"].as_array().unwrap().iter().map(|name| name.as_str().unwrap());
            assert_eq!(only.collect::<BTreeSet<_>>(), commands, "{file}: `only` of {at}");
        }
    }
}

#[test]
fn resctrl_is_there_under_every_contender_of_a_machine_that_is_modelled() {
    let experiment = Experiment::parse(&format!("resctrl = true\n{TEXT}"), "t.toml").unwrap();
    let with = |plain| {
        let order = order(&experiment, &spec(), 0, &Options { plain, ..Options::default() }).unwrap();
        order.runs.into_iter().filter(|run| run.regime.resctrl).map(|run| run.id).collect::<Vec<_>>()
    };
    let under = experiment.contender.iter().map(|contender| under_id(&contender.name())).collect::<Vec<_>>();
    assert_eq!((with(false), with(true)), (under, Vec::new()));
}
