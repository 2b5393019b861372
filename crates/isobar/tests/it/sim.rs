//! `isobar sim`, and `manage` and `explain` on a simulated machine.

use crate::support::{file, isobar, isobar_with};
use serde_json::Value;
use std::collections::BTreeSet;

/// Memory-intensive and quiet programs on four nodes, with runs that are short enough for a test.
const WORKLOAD: &str = "machine = \"barcelona-4x4\"\n\n[run]\nruns = 1\ninstructions_factor = 0.02\n\n\
                        [[app]]\nprogram = \"mcf\"\ncount = 4\n\n[[app]]\nprogram = \"povray\"\ncount = 4\n";
const POLICIES: &str = "linux,di-plain,di-migrate,dino";

#[test]
fn policies_are_compared_and_the_same_seed_gives_the_same_bytes() {
    let (_folder, workload) = file("workload.toml", WORKLOAD);
    let args = ["sim", &workload, "--policy", POLICIES, "--seed", "3", "--json"];
    let first = isobar(&args).done().to_owned();
    assert_eq!(first, isobar(&args).done());
    assert!(keys(&serde_json::from_str(&first).unwrap()).iter().all(|key| is_snake_case(key)), "{first}");
    let document: Value = serde_json::from_str(&first).unwrap();
    let rows = document["policies"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    for (row, name) in rows.iter().zip(POLICIES.split(',')) {
        assert_eq!(row["policy"], name);
        assert!(row["unfairness"].as_f64().unwrap() >= 1.0, "{row}");
        assert!(row["apps"].as_array().unwrap().iter().all(|app| app["slowdown"].as_f64().unwrap() > 0.9), "{row}");
    }
    let table_of = |policies: &str| isobar(&["sim", &workload, "--policy", policies]).done().to_owned();
    assert!(!table_of("linux").contains("not compared") && table_of("dino").contains("vs linux: not compared"));
    let table = isobar(&["sim", &workload, "--policy", POLICIES]).done().to_owned();
    for piece in ["linux", "dino", "mcf", "povray"] {
        assert!(table.contains(piece), "{table}");
    }
}

/// Four programs with their memory on one of two nodes: six schedules, eight mappings of two pairs.
const SIX: &str = "machine = \"nehalem-2x4\"\n\n[run]\nruns = 1\ninstructions_factor = 0.02\n\n\
                   [[app]]\nprogram = \"mcf\"\nmemory_node = 0\n\n[[app]]\nprogram = \"milc\"\nmemory_node = 0\n\n\
                   [[app]]\nprogram = \"povray\"\nmemory_node = 0\n\n[[app]]\nprogram = \"lbm\"\nmemory_node = 0\n";

#[test]
fn jobs_change_no_byte_and_repeats_give_intervals() {
    let (_folder, workload) = file("workload.toml", WORKLOAD);
    let sampled = ["--schedules", "sampled", "--repeat", "3"];
    let args = [&["sim", &workload, "--policy", "linux,dino", "--json"], &sampled[..], &["--jobs"]].concat();
    let one = isobar(&[&args[..], &["1"]].concat()).done().to_owned();
    assert_eq!(one, isobar(&[&args[..], &["2"]].concat()).done());
    let document: Value = serde_json::from_str(&one).unwrap();
    assert_eq!(document["schedules"], Value::Null, "each repeat draws its own");
    for row in document["policies"].as_array().unwrap() {
        let spread = &row["spread"]["antt"];
        assert!(spread["half_width_95"].as_f64().unwrap() >= 0.0, "{spread}");
        assert!(spread["min"].as_f64() <= row["antt"].as_f64() && row["antt"].as_f64() <= spread["max"].as_f64());
        assert!(row["apps"][0]["vs_linux_spread"]["half_width_95"].is_number(), "{row}");
    }
    let table = isobar(&[&["sim", &workload, "--policy", "linux,dino"], &sampled[..]].concat()).done().to_owned();
    assert!(table.contains('±') && table.contains("Student"), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 110), "{table}");
}

#[test]
fn few_schedules_are_all_run_and_the_best_mapping_bounds_them() {
    let (_folder, workload) = file("workload.toml", SIX);
    let document = isobar(&["sim", &workload, "--policy", "linux", "--optimum", "--json"]).document();
    assert_eq!(document["schedules"], 6);
    let linux = &document["policies"][0]["spread"]["antt"];
    assert_eq!(linux["half_width_95"], Value::Null, "one repeat has no interval");
    let optimum = &document["optimum"];
    assert_eq!(optimum["mappings"], 16, "2 to the power of 4: the programs differ, and so do the nodes");
    let (best, worst) = (optimum["best"]["antt"].as_f64().unwrap(), optimum["worst"]["antt"].as_f64().unwrap());
    assert!(best <= linux["min"].as_f64().unwrap() && worst >= linux["max"].as_f64().unwrap(), "{optimum} {linux}");
    let other = isobar(&["sim", &workload, "--policy", "linux", "--seed", "9", "--json"]).document();
    let antt = |document: &Value| document["policies"][0]["antt"].clone();
    assert_eq!(antt(&other), antt(&document), "no seed decides what all schedules give");
    let text = isobar(&["sim", &workload, "--policy", "linux", "--optimum"]).done().to_owned();
    assert!(
        text.contains("the 6 different schedules") && text.contains("16 different ones") && text.contains("on llc 1"),
        "{text}"
    );
    let many =
        SIX.replace("\nmemory_node = 0", "\ncount = 9\nphase_stagger = 0.1").replace("nehalem-2x4", "barcelona-4x4");
    let (_folder, many) = file("many.toml", &many);
    isobar(&["sim", &many, "--policy", "linux", "--optimum"]).refused(&["static mappings: more than", "take fewer"]);
    isobar(&["sim", &many, "--policy", "linux", "--schedules", "all"]).refused(&["balanced schedules: more than"]);
}

/// The best static arrangement of threads, pages and ways, compared with the policies.
#[test]
fn the_joint_optimum_is_no_worse_than_any_mapping_and_not_below_its_bound() {
    let (_folder, workload) = file("workload.toml", SIX);
    let args = ["sim", &workload, "--policy", "linux,n-mass", "--optimum", "joint"];
    let document = isobar(&[&args[..], &["--json"]].concat()).document();
    assert!(keys(&document).iter().all(|key| is_snake_case(key)), "{document}");
    let joint = &document["joint"];
    let (antt, bound) = (joint["antt"].as_f64().unwrap(), joint["antt_bound"].as_f64().unwrap());
    let linux = document["policies"][0]["spread"]["antt"]["min"].as_f64().unwrap();
    assert!(1.0 <= bound && bound <= antt && antt < linux, "{joint} {linux}");
    let proved = joint["exhausted"] == true || joint["gap_percent"].as_f64().unwrap() <= 0.1;
    assert_eq!(joint["proved_optimal"].as_bool(), Some(proved), "{joint}");
    let mappings = isobar(&["sim", &workload, "--policy", "linux", "--optimum", "--json"]).document();
    assert!(antt <= mappings["optimum"]["best"]["antt"].as_f64().unwrap() * 1.005, "{joint}");
    for app in joint["apps"].as_array().unwrap() {
        assert!(app["vs_linux_percent"].is_number() && app["pages"].is_string() && app["llcs"][0].is_u64(), "{app}");
    }
    let text = isobar(&args).done().to_owned();
    assert_eq!(text, isobar(&args).done(), "the same every time");
    insta::assert_snapshot!("sim-joint", text);

    let short = isobar(&[&args[..], &["--time-limit", "0.001", "--json"]].concat()).document();
    assert!(short["joint"]["antt"].as_f64().unwrap() >= bound, "{short}");
    let several = isobar(&["sim", &workload, &file_beside(&workload), "--policy", "linux", "--optimum", "joint"]);
    let given = several.done();
    assert!(given.contains("bound") && given.lines().all(|line| line.chars().count() <= 80), "{given}");

    isobar(&[&args[..5], &["best"]].concat()).refused(&["--optimum", "mappings", "joint"]);
    isobar(&["sim", &workload, "--policy", "linux", "--time-limit", "9"]).refused(&["--optimum"]);
    isobar(&[&args[..5], &["mappings", "--time-limit", "9"]].concat()).refused(&["--time-limit", "joint"]);
}

/// Copies the workload under another name.
fn file_beside(workload: &str) -> String {
    let other = workload.replace("workload.toml", "other.toml");
    std::fs::copy(workload, &other).unwrap();
    other
}

/// Every key of a document.
fn keys(document: &Value) -> BTreeSet<String> {
    match document {
        Value::Object(map) => {
            map.iter().flat_map(|(key, value)| [keys(value), [key.clone()].into()]).flatten().collect()
        }
        Value::Array(list) => list.iter().flat_map(keys).collect(),
        _ => BTreeSet::new(),
    }
}

fn is_snake_case(key: &str) -> bool {
    key.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[test]
fn the_truth_comes_at_the_end_and_is_the_comparison_s() {
    let (_folder, workload) = file("workload.toml", WORKLOAD);
    let machine = format!("sim:{workload}");
    let run = isobar(&["manage", "--policy", "dino", "--machine", &machine, "--seed", "3", "--json"]);
    let summary = &run.documents().pop().unwrap()["summary"];
    let truth = &summary["simulated"];
    let compared = isobar(&["sim", &workload, "--policy", "dino", "--seed", "3", "--json", "--schedules", "sampled"]);
    let compared = compared.document();
    let row = &compared["policies"][0];
    let slowdowns =
        |apps: &Value| apps.as_array().unwrap().iter().map(|app| app["slowdown"].clone()).collect::<Vec<_>>();
    assert_eq!(slowdowns(&truth["apps"]), slowdowns(&row["apps"]));
    assert_eq!(truth["summary"]["unfairness"], row["unfairness"]);
    assert_eq!(summary["own_cpu_seconds"], Value::Null, "the same seed gives the same bytes");
    let text = isobar(&["manage", "--policy", "dino", "--machine", &machine]).done().to_owned();
    assert!(text.contains("no policy sees") && text.contains("mcf.4"), "{text}");
    let early = isobar(&["manage", "--policy", "linux", "--machine", &machine, "--for", "0.5", "--interval", "0.2"]);
    assert!(early.done().contains("run longer"), "{}", early.out);
}

#[test]
fn manage_acts_on_a_simulated_machine_and_tells_why() {
    let (_folder, workload) = file("workload.toml", WORKLOAD);
    let machine = format!("sim:{workload}");
    let args = ["manage", "--policy", "di-migrate", "--machine", &machine, "--for", "5"];
    let text = isobar(&args).done().to_owned();
    assert!(text.contains("4 nodes"), "{text}");
    assert!(text.contains("move thread ") && text.contains("[done]"), "{text}");
    assert_eq!(text, isobar(&args).done(), "the same seed prints the same");
}

#[test]
fn what_a_simulated_run_logs_is_what_decide_decides() {
    let (_folder, workload) = file("workload.toml", WORKLOAD);
    let machine = format!("sim:{workload}");
    let run = isobar(&["manage", "--policy", "dino", "--machine", &machine, "--for", "15", "--json"]);
    let (_, summary) = run.decided_again("dino");
    assert!(summary["threads_moved"].as_u64().unwrap() > 0, "{summary}");
}

#[test]
fn explain_gives_every_action_its_reason_and_only_narrows_it() {
    let (_folder, workload) = file("workload.toml", WORKLOAD);
    let machine = format!("sim:{workload}");
    let text = isobar(&["explain", "--policy", "di-migrate", "--machine", &machine]).done().to_owned();
    let actions = text.lines().filter(|line| line.starts_with("  ") && !line.contains("reason: ")).count();
    let moves = text.lines().filter(|line| line.starts_with("  move ") || line.starts_with("  migrate ")).count();
    assert!(moves > 0 && actions >= moves, "{text}");
    assert!(text.lines().filter(|line| line.starts_with("    reason: ")).count() >= moves, "{text}");
    let all = isobar(&["explain", "--policy", "di-migrate", "--machine", &machine, "--json"]).document();
    let pid = all["observation"]["processes"][0]["pid"].to_string();
    let one =
        isobar(&["explain", "--policy", "di-migrate", "--machine", &machine, "--json", "--only", &pid]).document();
    let pids: BTreeSet<String> =
        one["observation"]["processes"].as_array().unwrap().iter().map(|process| process["pid"].to_string()).collect();
    assert_eq!(pids, BTreeSet::from([pid]));
}

/// In a dry run `isobar` proposes the same change again and again, and measures none. `explain`
/// waits for the first proposal, unless a number of epochs is given.
#[test]
fn a_dry_run_proposes_and_measures_nothing() {
    let machine = concat!("sim:", env!("CARGO_MANIFEST_DIR"), "/../../examples/workloads/dino-spec.toml");
    let explain = |policy: &str, more: &[&str]| {
        isobar(&[&["explain", "--policy", policy, "--machine", machine], more].concat()).done().to_owned()
    };
    let first = explain("isobar", &[]);
    assert!(first.contains("isobar would take ") && first.contains("change 1: predicted +"), "{first}");
    assert!(explain("isobar", &["--epochs", "1"]).contains("isobar would do nothing after epoch 1\n"));
    assert!(explain("linux", &[]).contains("linux would do nothing after epoch 10\n"));
    // The programs end in the second epoch.
    let (_folder, short) = file("short.toml", WORKLOAD.replace("0.02", "0.0005"));
    let short = format!("sim:{short}");
    let ended = ["explain", "--policy", "linux", "--machine", &short];
    assert!(isobar(&ended).done().contains("linux would do nothing after epoch "));
    let document = isobar(&[&ended[..], &["--json"]].concat()).document();
    assert!(document["epoch"].as_u64().unwrap() < 10 && document["missing"].is_object(), "{document}");

    let dry = ["manage", "--policy", "isobar", "--machine", machine, "--dry-run", "--for", "30", "--json"];
    let mut epochs = isobar(&dry).documents();
    epochs.pop(); // the summary
    let acts = epochs.iter().filter(|epoch| !epoch["plan"]["actions"].as_array().unwrap().is_empty()).count();
    assert!(acts > 1 && epochs.iter().all(|epoch| epoch["plan"]["effects"].is_null()), "{acts}");
    let seen: String = epochs.iter().map(|epoch| format!("{}\n", epoch["observation"])).collect();
    let decide =
        |more: &[&str]| isobar_with(&[&["decide", "--policy", "isobar"], more, &["-"]].concat(), &seen).documents();
    let plans: Vec<Value> = epochs.iter().map(|epoch| epoch["plan"].clone()).collect();
    assert_eq!(decide(&["--dry-run"]), plans);
    let measured = decide(&[]).iter().filter(|plan| plan["effects"].is_array()).count();
    assert!(measured > 0, "what is carried out is measured");
}

#[test]
fn several_workloads_stand_side_by_side() {
    let (_folder, heavy) = file("heavy.toml", WORKLOAD);
    let (_other, six) = file("six.toml", SIX);
    let args = ["sim", &heavy, &six, "--policy", "linux,di-plain,dino,n-mass", "--schedules", "sampled"];
    let table = isobar(&args).done().to_owned();
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    for (name, words) in [("workload", 5), ("heavy", 8), ("six", 8), ("mean", 8)] {
        let row = rows.iter().find(|row| row.first() == Some(&name)).unwrap();
        assert_eq!(row.len(), words, "linux, then a mean and a worst program for each of three policies: {table}");
    }
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");

    // The figures are the same as those of each workload alone.
    let document = isobar(&[&args[..], &["--json"]].concat()).document();
    assert!(keys(&document).iter().all(|key| is_snake_case(key)), "{document}");
    let alone = isobar(&["sim", &six, "--policy", "linux,dino", "--schedules", "sampled", "--json"]).document();
    let (cell, row) = (&document["workloads"][1]["cells"][1], &alone["policies"][1]);
    assert_eq!((&cell["policy"], &cell["mean_percent"]), (&Value::from("dino"), &row["vs_linux_percent"]));
    let worst = row["apps"].as_array().unwrap().iter().map(|app| app["vs_linux_percent"].as_f64().unwrap());
    assert_eq!(cell["worst_percent"].as_f64(), worst.min_by(f64::total_cmp));
    assert_eq!(document["comparisons"][1]["policies"][2], *row);
    let means = [0, 1].map(|index| document["workloads"][index]["cells"][1]["mean_percent"].as_f64().unwrap());
    let all = document["all"][1]["mean_percent"].as_f64().unwrap();
    assert!((all - f64::midpoint(means[0], means[1])).abs() < 1e-9, "{all} {means:?}");

    isobar(&["sim", &heavy, &six, "--policy", "dino"]).refused(&["--policy dino", "expected --policy linux,dino"]);
    isobar(&["sim", &heavy, &six, "--policy", "linux,dino", "--optimum"]).refused(&["--optimum", "one workload"]);
    isobar(&["sim", &heavy, &heavy, "--policy", "linux,dino"]).refused(&["heavy.toml", "named twice"]);
}
