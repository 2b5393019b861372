use super::*;

const TEXT: &str = "name = \"t\"\nmachine = \"nehalem-2x4\"\n[[program]]\nname = \"a\"\nrun = \"chase\"\n\
                    [[contender]]\nkind = \"linux\"\nnuma_balancing = true\n[[contender]]\nkind \
                    = \"daemon\"\nname = \"dino\"\nrun = \"mover\"\n";

#[test]
fn what_is_not_written_has_its_default() {
    let got = Experiment::parse(TEXT, "t.toml").unwrap();
    assert_eq!((got.repeats, got.seed, got.scale.node_mib, got.program[0].instances), (5, 1, 512, 1));
    assert_eq!(got.contender.iter().map(Contender::name).collect::<Vec<_>>(), ["linux", "dino"]);
    assert_eq!(got.baseline(), "linux");
    assert_eq!(Experiment::parse(&toml::to_string(&got).unwrap(), "again").unwrap(), got);
}

#[test]
fn programs_come_apart_or_are_chosen_and_name_their_files() {
    let more =
        "[[program]]\nname = \"b\"\nrun = \"cpu\"\n[[program]]\nname = \"noise\"\nrun = \"cpu\"\nbackground = true\n";
    let head = "one_at_a_time = true\nhost_files = [\"{program}.trace\", \"all\"]\n";
    let mut experiment = Experiment::parse(&format!("{head}{TEXT}{more}"), "t.toml").unwrap();
    let shown = |one: &Experiment| {
        let programs = one.program.iter().map(|program| program.name.as_str()).collect::<Vec<_>>().join(" ");
        format!("{}: {programs}", one.name)
    };
    assert_eq!(experiment.apart().iter().map(shown).collect::<Vec<_>>(), ["t, a: a noise", "t, b: b noise"]);
    assert_eq!(experiment.host_files().into_iter().collect::<Vec<_>>(), ["a.trace", "all", "b.trace", "noise.trace"]);
    assert!(experiment.choose(&["c".into()]).unwrap_err().contains("there are a, b, noise"));
    experiment.choose(&["b".into()]).unwrap();
    assert_eq!(shown(&experiment), "t: b noise");
    experiment.one_at_a_time = false;
    assert_eq!(experiment.apart(), [experiment.clone()]);
}

#[test]
fn bad_experiments_get_one_line() {
    let bad = |from: &str, to: &str| {
        let error = Experiment::parse(&TEXT.replacen(from, to, 1), "t.toml").unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let text = error.to_string();
        assert!(text.starts_with("t.toml: ") && !text.contains('\n'), "{text}");
        text
    };
    assert!(bad("machine", "machin").contains("machin"));
    let contenders = &TEXT[TEXT.find("[[contender]]").unwrap()..];
    assert_eq!(bad(contenders, ""), "t.toml: contender: none: write [[contender]] or field = \"FILE\"");
    assert!(
        bad("machine", "compare_with = \"hurd\"\nmachine")
            .contains("compare_with: no contender is called `hurd`; there are linux")
    );
    assert!(bad("machine", "seeds = 3\nmachine").contains("line 2: unknown field `seeds`"));
    assert!(bad("run = \"chase\"", "run = \" \"").contains("run of `a` is empty"));
    assert!(bad("run = \"chase\"", "run = \"chase --repeat\"").contains("director adds"));
    assert!(bad("run = \"mover\"", "run = \"\"").contains("contender.run of `dino` is empty"));
    assert!(
        bad("run = \"mover\"", "run = \"mover\"\nbring = [\"run\"]")
            .contains("contender.bring: \"run\": expected the path")
    );
    assert!(bad("run = ", "start = { cpus = \"0\", node = 1 }\nrun = ").contains("both cpus and node"));
    assert!(bad("run = ", "each_thread_on = \"0-3\"\ninstances = 2\nrun = ").contains("each_thread_on of `a`"));
    assert!(
        bad("numa_balancing = true", "numa_balancing = true\nbefore = \" \"").contains("contender.before is empty")
    );
    assert!(bad("machine", "host_files = [\"../x\"]\nmachine").contains("host_files: \"../x\": expected the name"));
    assert!(bad("run = ", "background = true\nrun = ").contains("at least one must be measured"));
    assert!(bad("run = ", "instances = 0\nrun = ").contains("instances = 0"));
    assert!(bad("machine", "repeats = 0\nmachine").contains("repeats = 0: expected a whole number from 1 to 100"));
    assert!(bad("machine", "limit_seconds = nan\nmachine").contains("limit_seconds"));
    assert!(
        bad("kind = \"daemon\"\nname = \"dino\"\nrun = \"mover\"", "kind = \"linux\"\nnuma_balancing = true")
            .contains("two are called `linux`")
    );
    assert!(bad("kind = \"linux\"", "kind = \"windows\"").contains("windows"));
    assert!(bad("numa_balancing = true", "numa_balancing = true\nspeed = 1").contains("speed"));
    assert!(
        bad(
            "kind = \"daemon\"\nname = \"dino\"\nrun = \"mover\"",
            "kind = \"numactl\"\nbind = { b = { cpus_of = 0, memory_of = 0 } }"
        )
        .contains("no program is called `b`")
    );
    assert!(bad("name = \"a\"", "name = \"a#1\"").contains("without / #"));
}

#[test]
fn contenders_and_files_of_a_field_join_those_of_the_experiment() {
    let folder = tempfile::tempdir().unwrap();
    let field = "[files]\n\"/etc/a\" = \"only = [{commands}]\"\n\"/etc/b\" = \"b\"\n[[contender]]\nkind = \
                 \"numad\"\n";
    std::fs::write(folder.path().join("field.toml"), field).unwrap();
    let file = folder.path().join("t.toml").display().to_string();
    let text = format!(
        "field = \"field.toml\"\n{TEXT}[[program]]\nname = \"b\"\nrun = \"real x\"\ncommands = \
                        [\"server\", \"load\"]\n[files]\n\"/etc/b\" = \"own\"\n"
    );
    let got = Experiment::parse(&text, &file).unwrap();
    assert_eq!(got.contender.iter().map(Contender::name).collect::<Vec<_>>(), ["linux", "dino", "numad"]);
    assert_eq!(got.files["/etc/a"], "only = [\"chase\", \"load\", \"server\"]");
    assert_eq!((got.files["/etc/b"].as_str(), &got.field), ("own", &None));
    let bad = |text: &str| Experiment::parse(text, &file).unwrap_err().to_string();
    assert!(bad(&text.replace("field.toml", "none.toml")).contains("t.toml: field: "));
    std::fs::write(folder.path().join("field.toml"), "[[contender]]\nkind = \"numad\"\nspeed = 1\n").unwrap();
    assert!(bad(&text).contains("field.toml: ") && bad(&text).contains("speed"), "{}", bad(&text));
}

#[test]
fn numactl_takes_nodes_or_its_own_options() {
    let with = |bind: &str| {
        let daemon = "kind = \"daemon\"\nname = \"dino\"\nrun = \"mover\"";
        let numactl = format!("kind = \"numactl\"\nbind = {{ a = {{ {bind} }} }}");
        Experiment::parse(&TEXT.replace(daemon, &numactl), "t.toml")
    };
    let words = |bind: &str| match &with(bind).unwrap().contender[1] {
        Contender::Numactl { bind, .. } => bind["a"].words(),
        other => panic!("{other:?}"),
    };
    assert_eq!(words("cpus_of = 1, memory_of = 0"), ["--cpunodebind=1", "--membind=0"]);
    assert_eq!(words("options = \"--physcpubind=0-1 --interleave=all\""), ["--physcpubind=0-1", "--interleave=all"]);
    for wrong in ["", "options = \"\"", "options = \"chase\""] {
        assert!(with(wrong).unwrap_err().to_string().contains("contender.bind of `a`: expected"), "{wrong}");
    }
}
