//! `isobar advise` on simulated machines, and on machines for which there is no advice.

use crate::support::isobar;
use serde_json::Value;

const ONE_NODE: &str = concat!("sim:", env!("CARGO_MANIFEST_DIR"), "/../../examples/stress/one-node.toml");
const FEW: &str = concat!("sim:", env!("CARGO_MANIFEST_DIR"), "/../../examples/stress/few.toml");

#[test]
fn all_busy_programs_of_a_machine_whose_memory_is_on_one_node() {
    let said = isobar(&["advise", "--machine", ONE_NODE]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    insta::assert_snapshot!("advise-one-node", said.out);
}

#[test]
fn a_machine_on_which_all_is_well() {
    let said = isobar(&["advise", "--machine", FEW]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    insta::assert_snapshot!("advise-few", said.out);
}

/// The best choice is first, its gain is within its range, and every choice but leaving the program
/// has a command.
#[test]
fn one_process_as_json() {
    let said = isobar(&["advise", "1003", "--json", "--machine", ONE_NODE]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let document: Value = serde_json::from_str(&said.out).unwrap();
    assert!(document["numa_balancing"].is_null(), "a simulated machine does not say");
    let programs = document["programs"].as_array().unwrap();
    assert_eq!((programs.len(), &programs[0]["pid"]), (1, &Value::from(1003)));
    let choices = programs[0]["choices"].as_array().unwrap();
    let number = |choice: &Value, key: &str| choice[key].as_f64().unwrap();
    for choice in choices {
        assert!(
            number(choice, "gain_low") <= number(choice, "gain")
                && number(choice, "gain") <= number(choice, "gain_high")
        );
        assert_eq!(choice["advice"] == "leave", choice["command"].is_null());
    }
    let gains: Vec<f64> = choices.iter().map(|one| number(one, "gain") + number(one, "gain_of_others")).collect();
    assert!(gains.is_sorted_by(|a, b| a >= b), "{gains:?}");
}

#[test]
fn what_cannot_be_advised_is_an_error_with_what_to_type_next() {
    let said = isobar(&["advise", "77", "--machine", ONE_NODE]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("process 77 does not exist") && said.err.contains("`isobar advise`"), "{}", said.err);
    for (arguments, expected) in [
        (["advise", "--numad", "x"], "expected CPUS or CPUS:MIB"),
        (["advise", "--for", "1"], "seconds from 2"),
        (["advise", "--machine", "a.toml"], "expected sim:FILE"),
    ] {
        let said = isobar(&arguments);
        assert_eq!(said.code, Some(2));
        assert!(said.err.contains(expected), "{}", said.err);
    }
}

/// Whatever can be advised here, the command ends with what it left in the background.
#[test]
fn a_command_that_is_tried_ends_with_what_it_started() {
    let said = isobar(&["advise", "--for", "2", "--", "sh", "-c", "sleep 50 & echo started $!; sleep 50"]);
    let started: u32 = said.err.lines().find_map(|line| line.strip_prefix("started ")?.parse().ok()).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{started}/stat")).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "it still runs: {stat}");
}

/// The output is a list of nodes for libvirt, and nothing else.
#[test]
fn numad_says_nodes_and_nothing_else() {
    let said = isobar(&["advise", "--numad", "1:16", "--machine", FEW]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(["0\n", "1\n", "2\n", "3\n"].contains(&said.out.as_str()), "{}", said.out);
    let said = isobar(&["advise", "--numad", "9999:16", "--machine", ONE_NODE]);
    assert_eq!((said.code, said.out.as_str()), (Some(0), "0-1\n"), "{}", said.err);
}
