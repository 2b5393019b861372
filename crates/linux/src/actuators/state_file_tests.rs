use super::*;
use isobar_model::{NodeId, Pages};
use std::os::unix::fs::{PermissionsExt, symlink};

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run").join("state.json");
    (folder, path)
}

#[test]
fn what_is_saved_is_loaded_and_private() {
    let (_folder, path) = place();
    let file = StateFile::lock(&path).unwrap();
    assert!(file.load().unwrap().is_none());
    let mut ledger = Ledger::new("boot".into());
    ledger.add_pages(NodeId(0), NodeId(1), Pages(9));
    file.save(&ledger).unwrap();
    assert_eq!(file.load().unwrap(), Some(ledger));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    file.remove().unwrap();
    file.remove().unwrap();
    assert!(file.load().unwrap().is_none());
}

#[test]
fn a_second_owner_is_refused_in_one_line_until_the_first_lets_go() {
    let (_folder, path) = place();
    let first = StateFile::lock(&path).unwrap();
    let message = StateFile::lock(&path).unwrap_err().to_string();
    assert!(message.contains(&format!("pid {}", std::process::id())), "{message}");
    assert_eq!(message.lines().count(), 1);
    drop(first);
    StateFile::lock(&path).unwrap();
}

#[test]
fn broken_files_are_named_with_the_remedy_in_one_line() {
    let (_folder, path) = place();
    let file = StateFile::lock(&path).unwrap();
    let whole = serde_json::to_string(&Ledger::new("boot".into())).unwrap();
    let misspelt = whole.replace("\"pages\"", "\"pagez\"");
    let newer = whole.replace("\"version\":1", "\"version\":2");
    let unprintable = whole.replace("\"pages\"", r#""pages\n\u001b[2J""#);
    for text in ["", "{", "[]", &whole[..whole.len() - 1], &misspelt, &newer, &unprintable] {
        fs::write(&path, text).unwrap();
        let message = file.load().unwrap_err().to_string();
        assert!(message.contains("state.json") && message.contains("delete it"), "{message}");
        assert!(!message.contains(char::is_control), "{message}");
    }
    fs::write(&path, [0xff, 0xfe]).unwrap();
    assert!(file.load().unwrap_err().to_string().contains("not text"));
}

#[test]
fn a_link_is_not_followed() {
    let (folder, path) = place();
    let file = StateFile::lock(&path).unwrap();
    let elsewhere = folder.path().join("elsewhere");
    fs::write(&elsewhere, serde_json::to_string(&Ledger::new("boot".into())).unwrap()).unwrap();
    symlink(&elsewhere, &path).unwrap();
    assert!(matches!(file.load(), Err(ActuatorError::State { what: "open", .. })));
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let blocked = folder.path().join("file");
    fs::write(&blocked, "").unwrap();
    let message = StateFile::lock(&blocked.join("state.json")).unwrap_err().to_string();
    assert!(message.contains("make the folder") && message.contains("nothing is changed"), "{message}");
}
