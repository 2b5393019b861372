use super::*;
use crate::watch::SearchState;
use isobar_optima::Objective;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// An observer that never stops the study and counts the answers.
struct Silent(Mutex<usize>, Instant);

impl Watch for Silent {
    fn stopped(&self) -> bool {
        false
    }

    fn elapsed(&self) -> Duration {
        self.1.elapsed()
    }

    fn done(&self, done: usize, _: usize) {
        let mut most = self.0.lock().unwrap();
        *most = done.max(*most);
    }

    fn search(&self, _: &SearchState<'_>) {}
}

const PROGRAMS: &str = "
[[program]]
name = \"a\"
ipc = [0.5, 0.7, 0.9, 1.0]
llcmpki = [20, 12, 8, 6]
bandwidth_mbps = [2000, 1500, 1200, 1000]
[[program]]
name = \"b\"
ipc = [0.6, 0.62, 0.63, 0.64]
llcmpki = [30, 29, 29, 28]
bandwidth_mbps = [4000, 3900, 3900, 3800]
[[program]]
name = \"c\"
ipc = [1.0, 1.0, 1.0, 1.0]
llcmpki = [0.1, 0.1, 0.1, 0.1]
bandwidth_mbps = [10, 10, 10, 10]
";

fn ask(algorithms: &[&str], model: &str) -> Ask {
    Ask {
        algorithms: algorithms.iter().map(|name| (*name).to_owned()).collect(),
        model: model.to_owned(),
        max_bandwidth: None,
        groups: None,
        uma: false,
        cores: None,
        ways: None,
        objective: "unfairness".to_owned(),
        machine: None,
        time_limit: None,
    }
}

fn study(ask: &Ask, workloads: &str) -> Result<Study, StudyError> {
    let profiles = isobar_profiles::read("p.toml", PROGRAMS).unwrap();
    Study::new(ask, profiles, Some(Source { file: "w.txt", text: workloads }), None)
}

fn rows(study: &Study, jobs: usize) -> Vec<Row> {
    let (watch, mut rows) = (Silent(Mutex::new(0), Instant::now()), Vec::new());
    let keep = |row| {
        rows.push(row);
        Ok(())
    };
    study.run::<StudyError>(jobs, &watch, keep).unwrap();
    assert_eq!(*watch.0.lock().unwrap(), study.answers());
    rows
}

#[test]
fn rows_come_workload_by_workload_and_threads_change_nothing() {
    let asked = ask(&["none", "equal", "opt-cluster"], "queueing");
    let study = study(&asked, "a,b\nb,b,a\n# c\na,a,b,b\n").unwrap();
    let said = |jobs| {
        rows(&study, jobs).into_iter().map(|row| Row { seconds: 0.0, nodes_explored: 0, ..row }).collect::<Vec<_>>()
    };
    let one = said(1);
    let order: Vec<_> = one.iter().map(|row| (row.workload, row.line, row.algorithm.as_str())).collect();
    assert_eq!(order[..4], [(1, 1, "none"), (1, 1, "equal"), (1, 1, "opt-cluster"), (2, 2, "none")]);
    assert_eq!((one.len(), order[8]), (9, (3, 4, "opt-cluster")));
    assert_eq!(one, said(4));
    assert!(one.iter().all(|row| row.problem.is_none() && row.measures.stp.is_some()));
}

#[test]
fn the_optimum_is_never_worse_and_its_gap_is_none() {
    for model in ModelKind::ALL.map(ModelKind::name) {
        for objective in Objective::ALL.map(Objective::name) {
            let asked = Ask { objective: objective.to_owned(), max_bandwidth: Some(9000.0), ..ask(&["all"], model) };
            let rows = rows(&study(&asked, "a,b,a\n").unwrap(), 2);
            let best = rows.iter().find(|row| row.algorithm == "opt-cluster").unwrap();
            assert_eq!((best.proved_optimal, best.gap_percent), (true, Some(0.0)), "{best:?}");
            for row in &rows {
                let worth = |row: &Row| {
                    if objective == "stp" { -row.measures.stp.unwrap() } else { row.measures.unfairness.unwrap() }
                };
                assert!(row.problem.is_some() || worth(best) <= worth(row) + 1e-9, "{row:?}");
            }
        }
    }
}

/// Two sensitive programs (4 ways and 1000 MB/s each), a streaming program (2 ways and 3900 MB/s)
/// and a light program, dealt out round robin. With both sensitive programs on LLC 0, the gaps
/// between the LLCs are 5 ways and 1910 MB/s. With the sensitive programs apart, they are 1 way and
/// 3890 MB/s. Thresholds are 2 ways and 35 % of the bandwidth of a controller. With 30000 MB/s,
/// apart is better (0.5 thresholds instead of 2.5). Without a limit, the threshold is 35 % of the
/// mean load of 2955 MB/s, and apart is worse (3.8 thresholds).
#[test]
fn divide_content_minds_the_bandwidth_of_the_controllers() {
    let apart = |model: &str, max_bandwidth: Option<f64>| {
        let asked = Ask { max_bandwidth, groups: Some(2), ..ask(&["divide-content"], model) };
        let row = &rows(&study(&asked, "a,c,a,b\n").unwrap(), 1)[0];
        let llc_of_sensitive: Vec<_> = row.apps.iter().filter(|app| app.name == "a").map(|app| app.llc).collect();
        llc_of_sensitive[0] != llc_of_sensitive[1]
    };
    assert!(!apart("pbbcache-simple", None));
    assert!(apart("pbbcache-simple", Some(30_000.0)));
    assert!(apart("queueing", None), "the machine's own");
    assert!(!apart("queueing", Some(3000.0)));
}

#[test]
fn where_the_model_has_no_meaning_the_row_says_so_and_the_others_stand() {
    // b takes far more than a, and ten times the available bandwidth.
    let asked = Ask { max_bandwidth: Some(300.0), ..ask(&["none"], "pbbcache-simple") };
    let rows = rows(&study(&asked, "a,b\na,a\n").unwrap(), 1);
    assert!(
        rows[0].problem.as_ref().unwrap().contains("`b`") && rows[0].measures == Measures::default(),
        "{:?}",
        rows[0]
    );
    assert!(rows[0].apps.iter().all(|app| app.slowdown.is_none() && app.ways == Some(4)));
    assert!(rows[1].measures.stp.unwrap() > 0.0);
}

#[test]
fn time_ends_a_search_with_the_best_so_far() {
    let asked = Ask {
        time_limit: Some(Duration::from_millis(1)),
        ways: Some(16),
        ..ask(&["lfoc+", "opt-cluster"], "queueing")
    };
    let rows = rows(&study(&asked, "a,b,a,b,a,b,a,b\n").unwrap(), 1);
    let (heuristic, search) = (&rows[0], &rows[1]);
    assert!(!search.proved_optimal && search.seconds < 5.0, "{search:?}");
    assert!(search.measures.unfairness <= heuristic.measures.unfairness, "at least what a heuristic finds at once");
    assert!(search.remarks[0].contains("ends before 16 ways"), "{:?}", search.remarks);
}

#[test]
fn a_request_that_makes_no_sense_is_one_line() {
    let said = |change: &dyn Fn(&mut Ask), workloads: &str| {
        let mut asked = ask(&["none"], "queueing");
        change(&mut asked);
        let said = study(&asked, workloads).unwrap_err().to_string();
        assert!(!said.contains(char::is_control), "{said}");
        said
    };
    let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        said(&|ask| ask.groups = Some(3), "a,b"),
        "w.txt: line 1: 2 programs cannot fill 3 groups: take --groups 2 or fewer"
    );
    assert!(
        said(&|ask| ask.cores = Some(1), "a,b")
            .contains("2 programs do not fit on 1 cores (1 groups of 1): take --cores 2 or more")
    );
    assert!(said(&|ask| ask.ways = Some(0), "a").starts_with("--ways 0: expected"));
    assert!(said(&|ask| ask.groups = Some(0), "a").starts_with("--groups 0: expected"));
    assert!(said(&|ask| ask.max_bandwidth = Some(0.0), "a").starts_with("--max-bandwidth 0: expected MB/s from 1"));
    assert!(said(&|ask| ask.max_bandwidth = Some(1e-300), "a").contains("expected MB/s from 1 to 1e9, such as 20000"));
    assert!(said(&|ask| ask.max_bandwidth = Some(f64::NAN), "a").starts_with("--max-bandwidth NaN"));
    assert!(said(&|ask| ask.model = "queuing".to_owned(), "a").contains("unknown model; did you mean `queueing`?"));
    assert!(said(&|ask| ask.objective = "fairness".to_owned(), "a").contains("did you mean `unfairness`?"));
    assert!(said(&|ask| ask.algorithms = named(&["lfco+"]), "a").contains("unknown algorithm; did you mean `lfoc+`"));
    assert!(said(&|ask| ask.algorithms = named(&["none", "none"]), "a").contains("`none` occurs twice"));
    assert!(said(&|ask| ask.algorithms = named(&["dino"]), "a").contains("--groups N, 2 or more"));
    assert!(
        said(&|ask| (ask.algorithms, ask.groups) = (named(&["opt-cluster"]), Some(2)), "a,b")
            .contains("is for one LLC")
    );
    assert!(said(&|ask| ask.algorithms = named(&["fixed"]), "a").contains("--solution FILE"));
    assert!(said(&|ask| ask.machine = Some("skylake".to_owned()), "a").contains("skylake-2x20"));
    let many = ["a"; 65].join(",");
    assert!(
        said(&|ask| ask.algorithms = named(&["opt-part"]), &many)
            .contains("65 programs are too many for the exact search of `opt-part`: at most 64")
    );
}

#[test]
fn given_solutions_are_held_against_the_machine() {
    let said = |solution: &str, change: &dyn Fn(&mut Ask)| {
        let mut asked = ask(&["fixed"], "pbbcache-simple");
        change(&mut asked);
        let text = format!("{{\"solutions\": [{solution}]}}");
        let source = Source { file: "s.json", text: &text };
        let profiles = isobar_profiles::read("p.toml", PROGRAMS).unwrap();
        Study::new(&asked, profiles, None, Some(source)).map(|study| rows(&study, 1)).map_err(|error| error.to_string())
    };
    let good = r#"{"apps": ["a", "b"], "llc": [0, 1], "cluster": [0, 1], "ways": [4, 3]}"#;
    let row = &said(good, &|_| ()).unwrap()[0];
    assert_eq!((row.groups, row.apps[1].way_mask.as_deref(), row.apps[0].slowdown), (2, Some("0x7"), Some(1.0)));
    let wide = good.replace("[4, 3]", "[5, 3]");
    assert_eq!(said(&wide, &|_| ()).unwrap_err(), "s.json: solutions[0]: group 0 uses 5 ways; the cache has 4");
    assert!(said(&wide, &|ask| ask.ways = Some(5)).is_ok());
    assert!(said(good, &|ask| ask.groups = Some(1)).unwrap_err().contains("llc 1 is used; --groups 1 has llc 0 to 0"));
    let both = good.replace("[0, 1], \"cluster\"", "[0, 0], \"cluster\"").replace("[4, 3]", "[1, 3]");
    assert!(said(&both, &|_| ()).is_ok());
    assert!(
        said(&both, &|ask| (ask.cores, ask.groups) = (Some(1), Some(2)))
            .unwrap_err()
            .contains("llc 0 runs 2 programs; --cores gives it 1")
    );
    let shared = good.replace('}', ", \"share\": \"llcmpki\"}");
    assert!(said(&shared, &|_| ()).is_ok());
    assert!(said(&shared, &|ask| ask.model = "queueing".to_owned()).unwrap_err().contains("`share` has no meaning"));
}

#[test]
fn lists_that_go_side_by_side_are_paired() {
    let one =
        |ways: [usize; 2]| format!(r#"{{"apps": ["a", "b"], "llc": [0, 0], "cluster": [0, 1], "ways": {ways:?}}}"#);
    let text = format!("{{\"solutions\": [{}, {}]}}", one([1, 3]), one([3, 1]));
    let ways = |workloads: &str| -> Vec<(usize, usize)> {
        let profiles = isobar_profiles::read("p.toml", PROGRAMS).unwrap();
        let source = |file, text| Some(Source { file, text });
        let asked = ask(&["fixed"], "pbbcache-simple");
        let study = Study::new(&asked, profiles, source("w.txt", workloads), source("s.json", &text)).unwrap();
        rows(&study, 1).iter().map(|row| (row.workload, row.apps[0].ways.unwrap())).collect()
    };
    assert_eq!(ways("a,b\n# c\na,b\n"), [(1, 1), (2, 3)]);
    assert_eq!(ways("a,b\n"), [(1, 1), (1, 3)], "all of the same programs");
}

#[test]
fn all_leaves_to_the_row_what_a_search_cannot_take() {
    let rows = rows(&study(&ask(&["all"], "pbbcache-simple"), &["a"; 65].join(",")).unwrap(), 2);
    let search = rows.iter().find(|row| row.algorithm == "opt-cluster").unwrap();
    assert!(search.problem.as_ref().unwrap().contains("65 programs") && search.measures.stp.is_none(), "{search:?}");
    assert!(rows[0].measures.stp.is_some());
}

#[test]
fn what_is_odd_under_a_model_is_reported_once() {
    let said = |model: &str, machine: Option<&str>, workloads: &str| {
        let profiles = match machine {
            Some(machine) => library::of_machine(machine).unwrap(),
            None => isobar_profiles::read("p.toml", &PROGRAMS.replace("29, 29, 28", "29, 31, 28")).unwrap(),
        };
        Study::new(&ask(&["none"], model), profiles, Some(Source { file: "w.txt", text: workloads }), None)
            .unwrap()
            .remarks()
    };
    assert_eq!(said("pbbcache-simple", None, "a,b\nb,a"), Vec::<String>::new());
    assert!(said("pbbcache-stalls", None, "a,b\nb,a")[0].starts_with("p.toml: a and 1 more: stalls are not known"));
    assert!(said("queueing", None, "a,b")[0].starts_with("p.toml: b: misses rise with one way more at some point"));
    let library = said("queueing", Some("haswell-2x18"), "specjbb,lu-mpi");
    assert!(
        library[0].contains("lu-mpi: has phases") && library[1].contains("specjbb: has several threads"),
        "{library:?}"
    );
}
