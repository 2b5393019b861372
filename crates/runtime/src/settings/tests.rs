//! Tests of the configuration: files and `--set`, what is refused and with which words.

use super::*;
use isobar_model::Sensor;
use proptest::prelude::*;

fn refused(text: &str) -> (usize, String) {
    Config::parse(text).unwrap_err()
}

#[test]
fn a_misspelt_key_names_its_line_and_the_right_ones() {
    let (line, why) = refused("[manage]\npolicy = \"dino\"\nintervall_seconds = 2\n");
    assert_eq!(line, 3);
    assert!(why.starts_with("unknown field `intervall_seconds`, expected one of `policy`"), "{why}");
    assert!(why.contains("`interval_seconds`"), "{why}");
}

#[test]
fn an_impossible_value_says_what_is_possible() {
    let (line, why) = refused("\n[manage]\ninterval_seconds = -1\n");
    assert_eq!((line, why.as_str()), (2, "manage: interval_seconds = -1: expected a number from 0.01 to 86400"));
    for (set, piece) in [
        ("max_threads = 0", "expected a number above 0"),
        ("counters = \"hardware\"", "`auto`, `software`, `numasim`"),
        ("interval_seconds = nan", "expected a number from"),
        ("only = [\"a*\", \"b[\"]", "manage: only: `b[` is no pattern: "),
        ("ignore = [\"a**\"]", "ignore: `a**` is no pattern"),
        // It would match nothing.
        ("only = [\"a\", \" \"]", "only: an empty name"),
        ("ignore = [\"tree:make\"]", "ignore: `tree:make`: expected tree:PID"),
        ("ignore = [\"\"]", "ignore: an empty name"),
    ] {
        let (line, why) = refused(&format!("\n[manage]\n{set}"));
        assert!(why.contains(piece) && !why.contains('\n') && (2..=3).contains(&line), "{set}: {line}: {why}");
    }
    assert_eq!(refused("[manage]\nonly = [\n").0, 2);
}

#[test]
fn an_entry_of_a_group_is_checked_and_names_its_line() {
    let good = "[manage]\nmin_cpu_percent = 5\n[[manage.group]]\nonly = [\"unit:a\"]\npolicy = \"linux\"\n";
    let (Sections { manage, .. }, _) = Config::parse(good).unwrap();
    let only = vec!["unit:a".to_owned()];
    assert_eq!(manage.group, [GroupConfig { only, policy: "linux".to_owned(), set: Table::new() }]);
    for (entry, line, piece) in [
        ("policy = \"linux\"", 6, "manage.group 2: no `only`: expected the processes that it is for, such as only = ["),
        ("only = []\npolicy = \"linux\"", 6, "manage.group 2: no `only`"),
        (
            "only = [\"a\"]",
            6,
            "manage.group 2: no `policy`: expected the policy that decides for them, such as policy = \"linux\"",
        ),
        (
            "only = [\"untt:a\"]\npolicy = \"linux\"",
            6,
            "manage.group 2: only: `untt:a`: there are no groups of the kind",
        ),
        (
            "only = [\"a\", \"tree:7\"]\npolicy = \"linux\"",
            6,
            "manage.group 2: only: `tree:7`: expected a name, pid, group or cgroup path; tree:PID is for --only",
        ),
        (
            "only = [\"a\"]\npolicy = \"linux\"\nsets = {}",
            9,
            "unknown field `sets`, expected one of `only`, `policy`, `set`",
        ),
    ] {
        let (at, why) = refused(&format!("{good}[[manage.group]]\n{entry}\n"));
        assert!(at == line && why.starts_with(piece), "{entry}: {at}: {why}");
    }
    let set = "manage.group=[{only=[\"unit:b\"], policy=\"dino\"}]".to_owned();
    assert_eq!(Config::of_policies(std::slice::from_ref(&set)).unwrap().manage.group[0].policy, "dino");
    let config = Config::load(Some(Path::new("a")), &[set], &|_| Ok(good.to_owned())).unwrap();
    assert_eq!(config.manage.group.len(), 1, "the command line wins");
}

#[test]
fn the_daemons_section_is_checked_as_the_others_are() {
    for (set, piece) in [
        ("record_files = 0", "daemon: record_files = 0: expected a number above 0"),
        ("record_bytes = 5", "daemon: record_bytes = 5: expected at least 1048576"),
        ("group = \"a:b\"", "daemon: group = \"a:b\": expected the name of a group"),
        ("recrod = true", "unknown field `recrod`, expected one of `group`"),
    ] {
        let (line, why) = refused(&format!("\n[daemon]\n{set}"));
        assert!(why.contains(piece) && (2..=3).contains(&line), "{set}: {line}: {why}");
    }
}

#[test]
fn sections_of_policies_are_handed_on() {
    let (Sections { manage, .. }, policies) =
        Config::parse("[manage]\nmin_cpu_percent = 5\n[dino]\nclass_window = 3\n").unwrap();
    assert!((manage.min_cpu_percent - 5.0).abs() < f64::EPSILON);
    assert_eq!(policies.keys().collect::<Vec<_>>(), ["dino", "manage"]);
}

#[test]
fn the_command_line_wins_over_the_file() {
    let read = |_: &Path| Ok("[manage]\ninterval_seconds = 4\nmax_threads = 7\n".to_owned());
    let sets = ["manage.interval_seconds=2", "manage.policy=dino", "dino.class_window=3"].map(String::from);
    let config = Config::load(Some(Path::new("isobar.toml")), &sets, &read).unwrap();
    assert_eq!(config.manage.interval_seconds, Some(2.0));
    assert_eq!((config.manage.max_threads, config.manage.policy.as_deref()), (7, Some("dino")));
    assert_eq!(config.sets, [Setting { key: "dino.class_window".into(), value: "3".into() }]);
    let wrong = Config::load(None, &["manage.max_thread=2".to_owned()], &read).unwrap_err().to_string();
    assert!(wrong.starts_with("--set manage.max_thread=2: unknown field `max_thread`, expected one of"), "{wrong}");
}

#[test]
fn the_section_of_programs_is_read_from_both() {
    let read = |_: &Path| Ok("[exec]\ntimeout_seconds = 4\nrestarts = 1\n[dino]\n".to_owned());
    let load = |sets: &[&str]| {
        let sets: Vec<_> = sets.iter().map(|set| (*set).to_owned()).collect();
        Config::load(Some(Path::new("isobar.toml")), &sets, &read).map_err(|error| error.to_string())
    };
    let config = load(&["exec.restarts=3", "exec.needs=[\"latency\"]"]).unwrap();
    let wanted = ExecConfig { timeout_seconds: Some(4.0), restarts: 3, needs: vec![Sensor::Latency], uses: Vec::new() };
    assert_eq!((config.exec, config.policies.len()), (wanted, 1));
    for (set, said) in [
        ("exec.timeout=3", "--set exec.timeout=3: unknown field `timeout`, expected one of `timeout_seconds`"),
        ("exec.timeout_seconds=0", "timeout_seconds = 0: expected a number from 0.001 to 3600"),
        ("exec.needs=[\"mpki\"]", "unknown variant `mpki`, expected one of `instructions`"),
    ] {
        let refusal = load(&[set]).unwrap_err();
        assert!(refusal.contains(said), "{refusal}");
    }
    assert_eq!(
        refused("\n[exec]\ntimeout_seconds = -1\n").1,
        "exec: timeout_seconds = -1: expected a number from 0.001 to 3600"
    );
}

#[test]
fn a_setting_without_section_or_value_is_refused() {
    for text in ["dino", "window=3", ".window=3", "dino.=3", "dino.window=", "=3"] {
        let told = Setting::parse(text).unwrap_err().to_string();
        assert!(told.contains("expected SECTION.KEY=VALUE"), "{text}: {told}");
    }
}

#[test]
fn metrics_are_off_unless_an_address_is_given() {
    assert_eq!(Config::load(None, &[], &|_| Ok(String::new())).unwrap().metrics.address().unwrap(), None);
    let read = |_: &Path| Ok("[metrics]\nlisten = \"9464\"\ngroups = 7\n[dino]\n".to_owned());
    let config = Config::load(Some(Path::new("isobar.toml")), &[], &read).unwrap();
    assert_eq!(config.metrics.address().unwrap(), Some("127.0.0.1:9464".parse().unwrap()));
    assert_eq!((config.metrics.groups, config.policies.keys().collect::<Vec<_>>()), (7, vec![&"dino".to_owned()]));
    let sets = ["metrics.listen=[::1]:1".to_owned()];
    let config = Config::load(Some(Path::new("isobar.toml")), &sets, &read).unwrap();
    assert_eq!((config.metrics.address().unwrap(), config.metrics.groups), (Some("[::1]:1".parse().unwrap()), 7));
}

#[test]
fn metrics_on_no_address_are_refused_with_what_is_one() {
    let (line, why) = refused("[manage]\n\n[metrics]\nlisten = \"localhost\"\n");
    assert_eq!(line, 3);
    assert!(why.starts_with("metrics: listen = \"localhost\": expected ADDRESS:PORT or a port"), "{why}");
    assert!(refused("[metrics]\ngroups = 0\n").1.contains("groups = 0: expected a number from 1 to 1000"));
    assert!(
        refused("[metrics]\nlissen = \"1\"\n").1.starts_with("unknown field `lissen`, expected `listen` or `groups`")
    );
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_in_one_line(text in any::<String>()) {
        if let Err((line, why)) = Config::parse(&text) {
            prop_assert!(line >= 1 && !why.contains('\n'), "{}", why);
        }
    }

    #[test]
    fn a_setting_keeps_what_was_typed(key in "[a-z]{1,8}\\.[a-z_]{1,8}", value in "[a-z0-9.]{1,8}") {
        let setting = Setting::parse(&format!("{key}={value}")).unwrap();
        prop_assert_eq!(setting, Setting { key, value });
    }
}

#[test]
fn settings_of_manage_are_refused_where_nothing_is_managed() {
    let told = Config::of_policies(&["manage.max_threads=3".to_owned()]).unwrap_err().to_string();
    assert!(told.starts_with("--set manage.max_threads=3: only `manage` and `explain` take it"), "{told}");
    assert!(Config::of_policies(&["dino.class_window=3".to_owned()]).is_ok());
}

#[test]
fn what_is_managed_by_default_is_the_default_of_the_loop() {
    assert_eq!(ManageConfig::default().rules(BTreeSet::new()), Rules::default());
}
