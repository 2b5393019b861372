//! Bad input of every kind gives one line on stderr that names the file, line or key, exit code 2,
//! and nothing on stdout.

use crate::support::{file, isobar, isobar_with, observation, run};

const KNOWN: &str = "linux, fixed, maximum-local, n-mass, n-mass-regression, di-plain, di-migrate, dino, \
                     lfoc+, divide-content, dino+lfoc+, cama, capm, camm, static-P, colloid, isobar";

#[test]
fn an_unknown_policy_names_the_known_ones_and_the_nearest() {
    let (_folder, workload) = file("workload.toml", "");
    for args in [
        &["decide", "--policy", "dnio", "-"][..],
        &["manage", "--policy", "dnio", "--dry-run", "--for", "1"],
        &["explain", "--policy", "dnio"],
        &["sim", &workload, "--policy", "linux,dnio"],
    ] {
        isobar(args).refused(&["unknown policy `dnio`", KNOWN, "did you mean `dino`?"]);
    }
    run("manage").refused(&["no policy", "--policy NAME", KNOWN]);
}

#[test]
fn a_policy_name_cannot_break_the_line() {
    isobar(&["decide", "--policy", "a\nb\u{1b}[2J\u{202e}", "-"]).refused(&["unknown policy"]);
}

/// Checks that a configuration is refused with a message that contains these pieces and the file's
/// name.
#[track_caller]
fn configured(text: &str, pieces: &[&str]) {
    let (_folder, config) = file("isobar.toml", text);
    run(&format!("manage --policy dino --config {config}")).refused(&[&[config.as_str()], pieces].concat());
}

#[test]
fn a_misspelt_key_names_the_file_and_the_right_keys() {
    configured("[manage]\nintervall_seconds = 2\n", &["toml:2: ", "`intervall_seconds`", "`interval_seconds`"]);
    configured("[dino]\nclas_window = 2\n", &["dino.clas_window", "class_window"]);
    configured("[mange]\n", &["[mange]", "[manage]", "[dino]"]);
    run("manage --policy dino --set manage.max_thread=3").refused(&["max_thread", "`max_threads`"]);
    run("decide --policy dino --set dino.windo=3 -").refused(&["dino.windo", "class_window"]);
    run("decide --policy dino --set window -").refused(&["--set window", "SECTION.KEY=VALUE"]);
}

#[test]
fn an_impossible_value_says_what_is_possible() {
    configured("[manage]\ninterval_seconds = -1\n", &["interval_seconds = -1", "0.01 to"]);
    configured("[dino]\nclass_votes = 99\n", &["dino.class_votes", "99"]);
    run("manage --policy dino --set manage.counters=hard").refused(&["`auto`, `software`, `numasim`"]);
    run("decide --policy dino --set dino.class_window=-1 -").refused(&["dino.class_window", "-1"]);
    isobar(&["manage", "--policy", "linux", "--only", ""]).refused(&["--only", "an empty name", "cgroup paths"]);
    run("manage --policy linux --only a[").refused(&["--only: `a[` is no pattern", "[*]"]);
    run("manage --policy dino --for nan").refused(&["--for", "seconds above 0"]);
    for rest in ["--for 0.5", "--for 2 --interval 2.5"] {
        run(&format!("manage --policy linux --dry-run {rest}")).refused(&[
            "--for",
            "shorter than the interval of",
            "so nothing would be decided",
        ]);
    }
    let (_folder, workload) = file("w.toml", "machine = \"nehalem-2x4\"\n[[app]]\nprogram = \"mcf\"\n");
    run(&format!("manage --policy linux --machine sim:{workload} --for 0.9")).refused(&["the interval of 1 s"]);
    for interval in ["0", "1e-300", "0.009", "86401", "inf", "nan", "-1"] {
        run(&format!("manage --policy dino --interval={interval}"))
            .refused(&["--interval", "seconds from 0.01 to 86400"]);
    }
    run("manage --policy dino --machine vm:x").refused(&["--machine vm:x", "sim:FILE"]);
}

#[test]
fn a_config_that_is_no_toml_or_not_there_is_told() {
    configured("[manage\n", &["toml:1: "]);
    run("manage --policy dino --config /nowhere.toml").refused(&["/nowhere.toml", "cannot be read"]);
}

/// Puts a bad line between two good ones. The plan for the first line is printed, and the message
/// names line 3 (line 2 is blank).
#[track_caller]
fn refused_on_line_3(bad: &str, pieces: &[&str]) {
    let good = observation(&[150, 10, 1, 0]).to_string();
    let said = isobar_with(&["decide", "--policy", "dino", "-"], &format!("{good}\n\n{bad}\n{good}\n"));
    said.failed(2, pieces);
    assert!(said.err.starts_with("isobar: -:3: "), "{}", said.err);
    assert_eq!(said.out.lines().count(), 1, "{}", said.out);
}

#[test]
fn a_broken_observation_names_line_and_key() {
    let broken = |pointer: &str, value: serde_json::Value| {
        let mut document = observation(&[150, 10, 1, 0]);
        *document.pointer_mut(pointer).unwrap() = value;
        document.to_string()
    };
    let thread = "/processes/1/threads/0";
    refused_on_line_3(&broken(&format!("{thread}/tid"), 100.into()), &["processes[1].threads[0].tid", "occurs twice"]);
    refused_on_line_3(
        &broken(&format!("{thread}/cpu"), 64.into()),
        &["processes[1].threads[0].cpu", "no CPU 64", "0-7"],
    );
    refused_on_line_3(
        &broken(&format!("{thread}/llc_misses"), (-5).into()),
        &["processes[1].threads[0].llc_misses", "-5", "not negative"],
    );
    refused_on_line_3(&broken("/interval", 0.into()), &["interval", "above 0"]);
    refused_on_line_3("{", &["EOF"]);
    refused_on_line_3("\u{1b}[2J", &["document"]);
}

#[test]
fn an_observation_that_is_not_text_or_not_there_is_told() {
    let (_folder, path) = file("seen.jsonl", b"\xff\xfe\n");
    run(&format!("decide --policy dino {path}")).refused(&[&format!("{path}:1: "), "UTF-8"]);
    run("decide --policy dino /nowhere.jsonl").refused(&["/nowhere.jsonl", "cannot be read"]);
    run("decide --policy dino /").refused(&["/:1: "]);
}

#[test]
fn a_root_that_is_no_tree_and_a_truncated_archive_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    isobar(&["topo", "--root", path]).refused(&[path]);
    run("topo --root /nowhere").refused(&["/nowhere"]);
    let (_folder, archive) = file("captured.tar.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b");
    run(&format!("topo --root {archive}")).refused(&[&archive]);
    let (_folder, archive) = file("captured.tar.bz2", b"BZh91AY&SY");
    run(&format!("topo --json --root {archive}")).refused(&[&archive]);
    let (_folder, text) = file("captured.txt", "no archive");
    run(&format!("topo --root {text}")).refused(&[&text]);
}

#[test]
fn a_workload_that_is_not_there_or_names_an_unknown_program_is_refused() {
    run("sim /nowhere.toml --policy linux").refused(&["/nowhere.toml", "cannot be read"]);
    run("manage --policy dino --machine sim:/nowhere.toml").refused(&["/nowhere.toml"]);
    let text = "machine = \"barcelona-4x4\"\n\n[[app]]\nprogram = \"solitaire\"\n";
    let (_folder, workload) = file("workload.toml", text);
    run(&format!("sim {workload} --policy linux")).refused(&[&workload, "solitaire"]);
    isobar(&["manage", "--policy", "dino", "--machine", &format!("sim:{workload}")]).refused(&[&workload, "solitaire"]);
}

/// Runs a workload, with other files beside it, under `linux`.
#[track_caller]
fn simulated(workload: &str, others: &[(&str, &str)]) -> crate::support::CommandOutput {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    others.iter().for_each(|(name, text)| std::fs::write(path(name), text).unwrap());
    std::fs::write(path("workload.toml"), workload).unwrap();
    isobar(&["sim", path("workload.toml").to_str().unwrap(), "--policy", "linux"])
}

#[test]
fn a_workload_machine_or_program_that_cannot_be_is_refused() {
    simulated("machine = \"nehalem-2x4\"\n", &[]).refused(&["workload.toml", "`app`", "at least one [[app]]"]);
    let one = "machine = \"nehalem-2x4\"\n[[app]]\n";
    simulated(&format!("{one}count = 2\n"), &[]).refused(&["`app.program` is missing", "program_file"]);
    simulated(&format!("{one}program_file = \"no.csv\"\n"), &[]).refused(&[
        "app.program_file",
        "no.csv",
        "cannot be read",
    ]);
    let phase = "program = \"a\"\n[[program]]\nname = \"a\"\ninstructions_billion = 1\nbase_cpi = 1\nmlp = \
                 1\nwrite_back = 0\n\
                 mpki = { streaming = 1, reuse = 1, half_mib = 1 }\nfootprint_mib = 1\n[[program.phase]]\n\
                 instructions_billion = 0.0\nmpki_factor = 1.0\n";
    simulated(&format!("{one}{phase}"), &[]).refused(&[
        "workload.toml",
        "a.phase.instructions_billion",
        "is 0; it must be from 0.001",
    ]);
    let machine = include_str!("../../../../examples/own/two-sockets.toml");
    let cut = machine.replace("[[link]]\na = 0\nb = 1\ngb_per_s_each_way = 20.0\n", "");
    let own = "machine = \"m.toml\"\n[[app]]\nprogram = \"mcf\"\n";
    simulated(own, &[("m.toml", &cut)]).refused(&["m.toml", "`link`", "no route from node 0 to node 1"]);
    simulated(own, &[]).refused(&["workload.toml", "`machine` names m.toml", "cannot be read"]);
}

#[test]
fn a_measured_table_that_does_not_hold_together_names_line_and_column() {
    let table = include_str!("../../../../examples/own/measured.csv");
    let workload = "machine = \"nehalem-2x4\"\n[run]\nruns = 1\ninstructions_factor = \
                    0.001\n[[app]]\nprogram_file = \"m.csv\"\nprogram = \"tree\"\n";
    let given = |text: &str, pieces: &[&str]| simulated(workload, &[("m.csv", text)]).refused(pieces);
    given(&table.replace(",llcmpki,", ",misses,"), &["m.csv: line 1: ", "column `llcmpki` is missing"]);
    let lines: Vec<_> = table.lines().collect();
    let without: Vec<_> = lines.iter().filter(|line| !line.starts_with("tree,4,")).copied().collect();
    given(&without.join("\n"), &["m.csv: line 13: ", "`tree`", "no line for 4 of 1 to 11 ways"]);
    let negative = lines.iter().map(|line| line.replace("tree,4,", "tree,4,-"));
    given(&negative.collect::<Vec<_>>().join("\n"), &["m.csv: line 16: ", "column `ipc`", "a number from 0"]);
    given(&format!("{table}{}\n", lines[3]), &["m.csv: line 24: ", "`sweep` with 3 ways", "already in line 4"]);
    given(&table.replace("tree", "bush"), &["unknown program `tree`", "known are bush, sweep"]);
    simulated(&format!("{workload}measured_on = \"barcelon\"\n"), &[("m.csv", table)])
        .refused(&["measured_on", "barcelon"]);
    // A curve that is not monotone is a real measurement: noted, not refused.
    let rising = simulated(&workload.replace("tree", "sweep"), &[("m.csv", table)]);
    assert!(rising.done().contains("note: sweep: measured misses rise at 7 ways"), "{}", rising.out);
}

#[test]
fn nothing_of_that_name_is_described() {
    run("sim --describe soplx").refused(&["--describe soplx", "did you mean `soplex`?", "isobar sim --list"]);
    run("sim --describe /nowhere.csv:x").refused(&["/nowhere.csv: cannot be read"]);
    run("sim --list --describe mcf").refused(&["--list", "--describe"]);
    isobar(&["sim", "--describe", "a\nb\u{1b}[2J"]).refused(&["a\\nb"]);
    let (_folder, csv) = file("m.csv", "BENCH\n");
    run(&format!("sim --describe {csv}")).refused(&[&format!("{csv}: line 1: "), "NR_WAYS"]);
    let (_folder, machine) = file("m.toml", "clock_ghz = 1\n[latency]\nns = [[1]]\n");
    run(&format!("sim --describe {machine}")).refused(&[&machine]);
}

#[test]
fn a_comparison_is_refused_in_one_line() {
    let (_folder, workload) = file("workload.toml", "machine = \"barcelona-4x4\"\n\n[[app]]\nprogram = \"mcf\"\n");
    let sim = |rest: &str| run(&format!("sim {workload} {rest}"));
    sim("--policy dino,dino").refused(&["--policy dino,dino", "`dino` occurs twice"]);
    sim("--policy linux,,dino").refused(&["--policy linux,,dino", "an empty name", KNOWN]);
    isobar(&["sim", &workload, "--policy", ""]).refused(&["--policy"]);
    sim("").refused(&["--policy", "isobar sim --help"]);
    sim("--policy linux --repeat 0").refused(&["--repeat", "1..=1000"]);
    sim("--policy linux --seed x").refused(&["--seed", "a whole number from 0"]);
    sim("--policy linux --seed -1").refused(&["-1"]);
    sim("--policy dino --set manage.max_threads=3").refused(&["--set manage.max_threads=3", "POLICY.KEY"]);
    let (_folder, workload) = file("workload.toml", "machine = \"nope\"\n\n[[app]]\nprogram = \"mcf\"\n");
    run(&format!("sim {workload} --policy linux")).refused(&[&workload, "unknown machine `nope`", "barcelona-4x4"]);
}

#[test]
fn a_file_name_cannot_break_the_line() {
    let name = "/nowhere\n\u{1b}[2J\u{202e}.toml";
    isobar(&["topo", "--root", name]).refused(&["/nowhere\\n\\u{1b}[2J"]);
    isobar(&["decide", "--policy", "dino", name]).refused(&["/nowhere\\n"]);
    isobar(&["sim", name, "--policy", "linux"]).refused(&["/nowhere\\n"]);
    isobar(&["manage", "--policy", "dino", "--config", name]).refused(&["/nowhere\\n"]);
    isobar(&["manage", "--policy", "linux", "--machine", &format!("sim:{name}")]).refused(&["/nowhere\\n"]);
    isobar(&["manage", "--policy", "linux", "--machine", name]).refused(&["--machine /nowhere\\n"]);
    let (_folder, file) = file("a\nb\u{1b}[2J.json", "{");
    isobar(&["restore", "--state", &file]).refused(&["a\\nb\\u{1b}[2J.json"]);
}

#[test]
fn usage_errors_are_one_line_too() {
    run("manage --fro 3").refused(&["'--fro'"]);
    run("decide -").refused(&["--policy"]);
    run("paint").refused(&["'paint'"]);
    run("explain --policy dino --epochs 0").refused(&["--epochs"]);
}
