//! Every verb explains itself.

#![allow(clippy::unwrap_used)]

mod support;

use support::isobar;

#[test]
fn every_verb_has_help_with_an_example() {
    for verb in ["topo", "decide", "manage", "explain", "restore", "sim"] {
        let said = isobar(&[verb, "--help"]);
        let help = said.done();
        assert!(help.contains(&format!("Example:\n  isobar {verb}")), "{help}");
    }
    assert!(isobar(&["--help"]).done().contains("manage"));
    assert!(isobar(&["--version"]).done().starts_with("isobar 0."));
    assert_eq!(isobar(&[]).code, Some(2));
}
