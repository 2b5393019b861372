//! Captured paths, and properties that must hold for any path.

#![allow(clippy::unwrap_used, clippy::panic)]

use isobar_groups::{Group, KINDS, Selector, label, label_named, of_path};
use proptest::prelude::*;

const ID: &str = "3f2a51b0c9d4e8f7061524334251607f8e9d0c1b2a394857665748392a1b0c9d";
const PATHS: &str = include_str!("paths.txt");

fn words(groups: &[Group]) -> String {
    groups.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

#[test]
fn captured_paths_have_their_groups_and_label() {
    let text = PATHS.replace("@ID@", ID).replace("@ID12@", &ID[..12]);
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with('/')).collect();
    for line in &lines {
        let parts: Vec<&str> = line.split("->").map(str::trim).collect();
        let [path, groups, expected] = parts[..] else { panic!("{line}") };
        assert_eq!(words(&of_path(path)), groups, "{path}");
        let label = label(path).map_or_else(|| "-".to_owned(), |group| group.to_string());
        assert_eq!(label, expected, "{path}");
    }
    assert!(lines.len() > 40);
}

fn fits(text: &str, path: &str) -> bool {
    let selector = Selector::parse(text).unwrap();
    assert_eq!(selector.to_string(), text);
    of_path(path).iter().any(|group| selector.fits(group, |_| false))
}

#[test]
fn what_is_typed_fits_by_name_or_enough_of_an_id() {
    let docker = format!("/system.slice/docker-{ID}.scope");
    for (typed, fitting) in [
        ("container:3f2a51b0", true),
        ("docker:3f2a51b0c9d4", true),
        ("docker:3F2A51B0", true),
        ("docker:3f2a", false),
        ("podman:3f2a51b0", false),
        ("slice:system", true),
        ("unit:docker", false),
    ] {
        assert_eq!(fits(typed, &docker), fitting, "{typed}");
    }
    assert!(
        fits("unit:nginx", "/system.slice/nginx.service") && fits("unit:nginx.service", "/system.slice/nginx.service")
    );
    assert!(!fits("unit:session-3", "/user.slice/session-3.scope"));
    let pod = "/kubepods/burstable/pod0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";
    assert!(fits("pod:0f1e2d3c", pod) && fits("qos:burstable", pod) && !fits("qos:guaranteed", pod));
    assert!(fits("vm:web", r"/machine.slice/machine-qemu\x2d3\x2dweb.scope"));
    assert!(Selector::parse("postgres: wal").is_none() && Selector::parse("nginx").is_none());
}

#[test]
fn a_name_that_its_runtime_knows_stands_for_an_id() {
    let docker = format!("/system.slice/docker-{ID}.scope");
    let pod = "/kubepods/burstable/pod0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";
    let fits = |text: &str, path: &str, name: &str| {
        let begins = |all: &str| {
            text.strip_suffix('*').and_then(|text| text.split_once(':')).is_some_and(|(_, head)| all.starts_with(head))
        };
        Selector::parse(text).unwrap().fits_path(path, Some(name), begins)
    };
    for (typed, path, name, fitting) in [
        ("docker:web", &*docker, "web", true),
        ("container:web", &docker, "web", true),
        ("container:w*", &docker, "web", true),
        ("docker:3f2a51b0", &docker, "web", true),
        ("slice:system", &docker, "web", true),
        ("podman:web", &docker, "web", false),
        ("pod:web", &docker, "web", false),
        ("pod:default/web", pod, "default/web", true),
        ("pod:web", pod, "default/web", true),
        ("pod:default/*", pod, "default/web", true),
        ("pod:other/web", pod, "default/web", false),
        ("container:web", pod, "default/web", false),
        ("unit:web", "/system.slice/nginx.service", "web", false),
    ] {
        assert_eq!(fits(typed, path, name), fitting, "{typed} {path}");
    }
    assert_eq!(label_named(&docker, Some("web")).as_deref(), Some("docker:web"));
    assert_eq!(label_named(pod, Some("default/web")).as_deref(), Some("pod:default/web"));
    assert_eq!(label_named(&docker, None).as_deref(), Some("docker:3f2a51b0c9d4"));
    assert_eq!(label_named("/system.slice/nginx.service", Some("web")).as_deref(), Some("unit:nginx.service"));
}

#[test]
fn an_unknown_kind_is_refused_in_one_line_that_names_the_kinds() {
    let told = Selector::check("untt:redis.service").unwrap_err();
    assert!(told.starts_with("`untt:redis.service`: there are no groups of the kind `untt`"), "{told}");
    assert!(KINDS.iter().all(|(kind, _)| told.contains(kind)) && told.ends_with("of that name write untt*"), "{told}");
    assert_eq!(Selector::check("unit:").unwrap_err(), "`unit:` names no unit: expected unit:NAME");
    for name in ["redis", "unit:redis.service", "postgres: wal", "kworker/0:1", "a-b:c", "x[:]y", "c::d", ":"] {
        assert_eq!(Selector::check(name), Ok(()), "{name}");
    }
}

#[test]
fn every_kind_is_explained() {
    assert!(KINDS.iter().all(|(kind, meaning)| Selector::parse(&format!("{kind}:x")).is_some() && meaning.len() > 7));
}

/// Paths built from meaningful pieces, so that random paths contain some groups.
fn paths() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("kubepods.slice".to_owned()),
        Just("kubepods".to_owned()),
        Just("docker".to_owned()),
        Just("machine.slice".to_owned()),
        Just("qemu.slice".to_owned()),
        Just(format!("docker-{ID}.scope")),
        Just(ID.to_owned()),
        Just(r"machine-qemu\x2d3\x2dweb.scope".to_owned()),
        Just("kubepods-pod0f1e2d3c_4b5a_6978_8796_a5b4c3d2e1f0.slice".to_owned()),
        "(machine-|docker-|lxc.payload.|pod)?[a-z0-9\\\\x-]{0,12}(.scope|.service|.slice|.libvirt-qemu)?",
        any::<String>(),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| format!("/{}", pieces.join("/")))
}

proptest! {
    #[test]
    fn any_path_is_read(path in paths()) {
        let groups = of_path(&path);
        prop_assert!(groups.len() <= path.split('/').count());
        if let Some(label) = label(&path) {
            prop_assert!(groups.contains(&label));
            // What is displayed can be typed as a selector.
            let text = label.to_string();
            let selector = Selector::parse(&text).unwrap();
            prop_assert!(selector.fits(&label, |_| false), "{}", text);
        }
        // Slashes at the ends mean nothing.
        prop_assert_eq!(of_path(path.trim_matches('/')), groups);
    }

    #[test]
    fn nothing_inside_a_container_is_a_unit_of_the_host(inside in paths()) {
        let groups = of_path(&format!("/system.slice/docker-{ID}.scope{inside}"));
        prop_assert!(groups[2..].iter().all(|group| matches!(group, Group::Container { .. } | Group::Pod { .. })), "{:?}", groups);
    }
}
