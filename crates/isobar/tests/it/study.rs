//! `isobar study` on the examples of the repository: tables for people, JSON, counts, solutions by
//! the user, and bad input.

use crate::support::{CommandOutput, command, file, isobar, said};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::Command;
use std::time::Duration;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Runs a study with its paths relative to the root of the repository.
fn study(words: &str) -> CommandOutput {
    let args: Vec<&str> = ["study"].into_iter().chain(words.split_whitespace()).collect();
    said(&command(&args).current_dir(ROOT).output().unwrap())
}

const OWN: &str = "--profiles examples/study/programs.toml --workloads examples/study/workloads.txt";

fn rows(words: &str) -> Vec<Value> {
    study(&format!("{words} --json")).documents()
}

/// The output without what varies: the times, which are the last two words of the lines with
/// measures, and the numbers of nodes, which depend on the number of threads.
fn steady(text: &str) -> String {
    let line = |line: &str| match (line.split_once("  CoV "), line.split_once(" node")) {
        (Some((before, after)), _) => format!("{before}  CoV {}", after.split(' ').next().unwrap()),
        (_, Some((before, _))) => before.rsplit_once("; ").unwrap().0.to_owned(),
        _ => line.to_owned(),
    };
    text.lines().map(|one| line(one) + "\n").collect()
}

#[test]
fn tables_for_people_are_as_they_were() {
    let given =
        study(&format!("{OWN} --algorithm none,equal,lfoc+,opt-cluster --model pbbcache-simple --max-bandwidth 7000"));
    insta::assert_snapshot!("study-simple", steady(given.done()));
    let given = study(&format!("{OWN} --algorithm none,ucp,opt-part --objective stp --ways 6"));
    insta::assert_snapshot!("study-queueing", steady(given.done()));
    let given = study(&format!(
        "{OWN} --algorithm lfoc+,optimal --groups 2 --uma --cores 4 --model pbbcache-stalls --max-bandwidth 9000"
    ));
    insta::assert_snapshot!("study-groups", steady(given.done()));
}

#[test]
fn no_line_is_wider_than_80_where_no_terminal_says_otherwise() {
    let given = study(&format!("{OWN} --algorithm all --groups 2"));
    assert!(given.done().lines().all(|line| line.chars().count() <= 80), "{}", given.out);
    assert!(given.out.contains("LLC 1") && given.out.contains("proved: no less unfairness") && given.out.is_ascii());
}

#[test]
fn the_document_has_a_line_for_each_workload_and_algorithm_in_order() {
    let rows = rows(&format!("{OWN} --algorithm lfoc+,opt-cluster --model pbbcache-simple --max-bandwidth 7000"));
    let order: Vec<_> =
        rows.iter().map(|row| (row["workload"].as_u64().unwrap(), row["algorithm"].as_str().unwrap())).collect();
    assert_eq!(order, [1, 2, 3].map(|workload| [(workload, "lfoc+"), (workload, "opt-cluster")]).concat());
    for row in &rows {
        for key in ["stp", "unfairness", "antt", "unfairness_cov", "seconds"] {
            assert!(row[key].as_f64().unwrap() >= 0.0, "{key}: {row}");
        }
        let search = row["algorithm"] == "opt-cluster";
        assert_eq!((row["proved_optimal"].as_bool(), row["nodes_explored"].as_u64() > Some(0)), (Some(search), search));
        assert_eq!(row["gap_percent"].as_f64(), search.then_some(0.0));
        for app in row["apps"].as_array().unwrap() {
            let mask = u64::from_str_radix(app["way_mask"].as_str().unwrap().trim_start_matches("0x"), 16).unwrap();
            assert_eq!(u64::from(mask.count_ones()), app["ways"].as_u64().unwrap(), "{app}");
            assert!(app["slowdown"].as_f64() >= app["slowdown_without_bandwidth"].as_f64(), "{app}");
            assert!(app["llc"] == 0 && app["cluster"].is_u64() && app["name"].is_string(), "{app}");
        }
    }
    assert!(rows[1]["unfairness"].as_f64() <= rows[0]["unfairness"].as_f64());
}

/// Worked by hand: hash and tree under a limit that is not reached have slowdowns of 0.872 / 0.774
/// and 1.394 / 1.222.
#[test]
fn given_solutions_are_evaluated_as_they_are() {
    let fixed = "--profiles examples/study/programs.toml --solution examples/study/solutions.json \
                 --algorithm fixed --model pbbcache-simple";
    let rows = rows(fixed);
    assert_eq!(rows.len(), 2);
    let slowdown = |app: usize| rows[1]["apps"][app]["slowdown"].as_f64().unwrap();
    assert!((slowdown(0) - 0.872 / 0.774).abs() < 1e-12 && (slowdown(1) - 1.394 / 1.222).abs() < 1e-12, "{}", rows[1]);
    assert_eq!((&rows[1]["apps"][1]["way_mask"], &rows[1]["groups"]), (&"0xe0".into(), &2.into()));
    let listed = rows_of_list(fixed);
    assert_eq!(listed[0]["unfairness"], rows[0]["unfairness"], "the same programs in another order");
    assert!(listed[2]["problem"].as_str().unwrap().contains("the file has no solution"), "{}", listed[2]);
}

fn rows_of_list(fixed: &str) -> Vec<Value> {
    let (_folder, list) = file("w.txt", "sums,copy,graph,hash\nhash,tree,scan,copy\nhash,tree\n");
    rows(&format!("{fixed} --workloads {list}"))
}

#[test]
fn where_the_model_has_no_meaning_the_row_says_so() {
    let rows = rows(&format!("{OWN} --algorithm none,lfoc+ --model pbbcache-simple --max-bandwidth 500"));
    let without: Vec<_> = rows.iter().filter(|row| row["unfairness"].is_null()).collect();
    assert!(!without.is_empty(), "{rows:?}");
    for row in without {
        assert!(row["problem"].as_str().unwrap().contains("cannot be used here: `copy`"), "{row}");
        assert!(row["apps"][0]["slowdown"].is_null() && row["stp"].is_null() && row["apps"][0]["llc"] == 0, "{row}");
    }
    let given = study(&format!("{OWN} --algorithm none --model pbbcache-simple --max-bandwidth 500"));
    assert!(given.done().contains("no figures in 3 of 3 answers") && !given.out.contains("inf"), "{}", given.out);
}

#[test]
fn the_simulator_s_programs_need_no_file() {
    let rows = rows(
        "--profiles machine:rome-ccx-2x4 --workloads examples/study/library.txt --groups 2 --algorithm dino,lfoc+",
    );
    assert_eq!((rows.len(), &rows[0]["max_bandwidth_mbps"], &rows[0]["ways"]), (4, &20500.0.into(), &16.into()));
}

#[test]
fn oddities_are_told_on_stderr_and_in_the_document() {
    let run = study(&format!("{OWN} --algorithm none --ways 10"));
    assert_eq!((run.code, run.err.lines().count()), (Some(0), 1));
    assert!(
        run.err.starts_with(
            "isobar: remark: examples/study/programs.toml: the table of copy and 5 more ends before 10 ways"
        ),
        "{}",
        run.err
    );
    let run = study(&format!("{OWN} --algorithm none --ways 10 --json"));
    let row: Value = serde_json::from_str(run.out.lines().next().unwrap()).unwrap();
    assert!(row["remarks"][0].as_str().unwrap().contains("ends before 10 ways"), "{row}");
}

#[test]
fn table_one_is_counted() {
    let of = |apps: u32, groups: u32| {
        let row = study(&format!("--count --apps {apps} --groups {groups} --ways 16 --json")).document();
        (row["mappings"].as_u64().unwrap(), row["solutions"].as_u64().unwrap())
    };
    assert_eq!((of(8, 2), of(12, 3), of(16, 4).1), ((35, 83_370), (5775, 20_634_075), 12_518_005_500));
    let text = study("--count --apps 16 --groups 4 --ways 16");
    assert_eq!(
        text.done(),
        "16 programs in 4 groups of at most 4, 16 ways each: 2,627,625 mappings, 12,518,005,500 solutions\n"
    );
    let listed =
        study("--count --workloads examples/study/workloads.txt --profiles examples/study/programs.toml --json");
    assert_eq!(listed.done().lines().count(), 2, "sizes 4 and 6");
}

#[test]
fn jobs_change_no_solution() {
    let given =
        |jobs| steady(study(&format!("{OWN} --algorithm all --groups 2 --model pbbcache-simple --jobs {jobs}")).done());
    assert_eq!(given(1), given(3));
}

/// Twelve programs under a model for which only a search through all solutions gives the optimum,
/// which would take hours.
#[test]
fn a_signal_ends_it_with_what_is_there() {
    let (_folder, list) = file("w.txt", ["hash,graph,tree,copy,scan,sums"; 2].join(","));
    let profiles = format!("{ROOT}/examples/study/programs.toml");
    let args = [
        "study",
        "--profiles",
        &profiles,
        "--workloads",
        &list,
        "--algorithm",
        "none,opt-cluster,equal",
        "--json",
        "--jobs",
        "1",
    ];
    let mut child = command(&args).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    out.read_line(&mut first).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    let done = child.wait_with_output().unwrap();
    assert_eq!((done.status.code(), rest.lines().count()), (Some(0), 1), "{rest}");
    let row: Value = serde_json::from_str(&rest).unwrap();
    assert_eq!((&row["algorithm"], &row["proved_optimal"]), (&"opt-cluster".into(), &false.into()));
    assert!(row["gap_percent"].as_f64() >= Some(0.0) && row["bound"].as_f64() <= row["unfairness"].as_f64(), "{row}");
    assert!(String::from_utf8_lossy(&done.stderr).contains("stopped: 2 of 3 answers"));
}

#[test]
fn bad_input_is_one_line() {
    let refused = |words: &str, pieces: &[&str]| study(words).refused(pieces);
    let (_folder, list) = file("w.txt", "hash,tree\n# c\nhash, sum\n");
    let own = format!("--profiles examples/study/programs.toml --workloads {list} --algorithm none");
    refused(&own, &[&format!("{list}: line 3: unknown program `sum`; did you mean `sums`?")]);
    refused(&format!("{OWN} --algorithm none --ways 0"), &["--ways 0", "from 1 to 64"]);
    refused(
        &format!("{OWN} --algorithm dino --groups 5"),
        &["workloads.txt: line 2: 4 programs cannot fill 5 groups", "--groups 4"],
    );
    refused(&format!("{OWN} --algorithm none --cores 3"), &["line 2: 4 programs do not fit on 3 cores", "--cores 4"]);
    refused(&format!("{OWN} --algorithm lfoc++"), &["unknown algorithm", "did you mean `lfoc+`"]);
    refused(&format!("{OWN} --algorithm none --model queuing"), &["unknown model", "`queueing`"]);
    refused(&format!("{OWN} --algorithm none --objective fairness"), &["unknown objective", "`unfairness`"]);
    refused(
        &format!("{OWN} --algorithm none --max-bandwidth 0"),
        &["'0' for '--max-bandwidth", "MB/s from 1 to 1e9, such as 20000"],
    );
    refused(
        &format!("{OWN} --algorithm none --max-bandwidth nan"),
        &["'nan' for '--max-bandwidth", "MB/s from 1 to 1e9"],
    );
    refused(&format!("{OWN} --algorithm none --max-bandwidth -5"), &["MB/s from 1 to 1e9"]);
    refused(
        &format!("{OWN} --algorithm none --machine itanium-2x4"),
        &["programs.toml: ", "goes to 8 ways", "--machine NAME"],
    );
    refused(&format!("{OWN} --algorithm dino"), &["--algorithm dino", "--groups N"]);
    refused(&format!("{OWN} --algorithm opt-cluster --groups 2"), &["is for one LLC", "optimal"]);
    refused(&format!("{OWN} --algorithm fixed"), &["--solution FILE"]);
    refused(&format!("{OWN} --algorithm none --solution examples/study/solutions.json"), &["--algorithm fixed"]);
    refused(&format!("{OWN} --algorithm none --machine skylake"), &["skylake-2x20"]);
    refused(&format!("{OWN} --algorithm none --time-limit 0"), &["--time-limit", "seconds above 0"]);
    refused(&format!("{OWN} --algorithm ,"), &["unknown algorithm"]);
    refused(OWN, &["--algorithm"]);
    refused("--profiles machine:rome --workloads examples/study/library.txt --algorithm none", &["rome-ccx-2x4"]);
    refused("--profiles nowhere.csv --workloads w.txt --algorithm none", &["nowhere.csv: cannot be read"]);
    refused("--profiles examples/study/programs.toml --algorithm none", &["--workloads"]);
    refused("--count --groups 2 --ways 4", &["--apps N"]);
    refused("--count --apps 2 --groups 3 --ways 4", &["cannot fill --groups 3"]);
    refused("--count --apps 4 --groups 2", &["--ways W"]);
    let (_folder, empty) = file("w.txt", "# nothing\n\n");
    refused(
        &format!("--profiles examples/study/programs.toml --workloads {empty} --algorithm none"),
        &["holds no workload"],
    );
    let (_folder, many) = file("w.txt", ["sums"; 65].join(","));
    let own = format!("--profiles examples/study/programs.toml --workloads {many} --algorithm opt-cluster");
    refused(&own, &["line 1: 65 programs are too many for the exact search", "at most 64"]);
    let wide = r#"{"solutions": [{"apps": ["hash", "tree"], "llc": [0, 0], "cluster": [0, 1], "ways": [5, 4]}]}"#;
    let (_folder, solution) = file("s.json", wide);
    let own = format!("--profiles examples/study/programs.toml --algorithm fixed --solution {solution}");
    refused(&own, &[&format!("{solution}: solutions[0]: group 0 uses 9 ways; the cache has 8")]);
    let (_folder, table) = file("m.csv", "BENCH,NR_WAYS\na,1\n");
    refused(
        &format!("--profiles {table} --workloads examples/study/workloads.txt --algorithm none"),
        &["m.csv: line 1: column `ipc`"],
    );
}

#[test]
fn the_help_lists_every_algorithm() {
    let help = isobar(&["study", "--help"]).done().to_owned();
    let names = "none equal ucp ucp-slowdown whirlpool kpart lfoc lfoc+ dino dino+lfoc+ divide-content opt-part \
                 opt-cluster opt-map opt-map+opt-part best-map+lfoc+ optimal fixed";
    for name in names.split(' ') {
        assert!(help.contains(&format!("\n  {name} ")), "{name}: {help}");
    }
}

#[test]
fn what_lfoc_plus_measured_of_running_programs_can_be_studied() {
    let folder = tempfile::tempdir().unwrap();
    let (profiles, workloads) = (folder.path().join("learnt.toml"), folder.path().join("workloads.txt"));
    let (profiles, workloads) = (profiles.to_str().unwrap(), workloads.to_str().unwrap());
    std::fs::write(workloads, "mcf06,lbm06,omnetpp06,gamess06\n").unwrap();
    let machine = format!("sim:{ROOT}/examples/workloads/ways.toml");
    let words = ["manage", "--policy", "lfoc+", "--machine", &machine, "--for", "60", "--save-profiles", profiles];
    isobar(&words).done();
    let saved = std::fs::read_to_string(profiles).unwrap();
    assert!(saved.contains("# sensitive\n[[program]]\nname = \"mcf06\"\n"), "{saved}");
    let words = ["study", "--profiles", profiles, "--workloads", workloads, "--algorithm", "opt-cluster", "--json"];
    // Remarks on measured curves are printed on stderr.
    let studied = isobar(&words);
    let row: Value = serde_json::from_str(studied.out.lines().next().unwrap_or(&studied.err)).unwrap();
    let ways =
        |name: &str| row["apps"].as_array().unwrap().iter().find(|app| app["name"] == name).unwrap()["ways"].as_u64();
    assert!(ways("mcf06") > ways("lbm06"), "{row}");
}
