use super::*;
use isobar_model::{NodeId, Pages};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::os::unix::fs::{PermissionsExt, symlink};

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run").join("state.json");
    (folder, path)
}

fn whole() -> String {
    serde_json::to_string(&Ledger::new("boot".into())).unwrap()
}

fn names(folder: &Path) -> Vec<OsString> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect()
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
    assert_eq!(names(path.parent().unwrap()), ["state.json"], "no lock, no temporary file");
    file.remove().unwrap();
    file.remove().unwrap();
    assert!(file.load().unwrap().is_none());
}

#[test]
fn a_second_owner_is_refused_in_one_line_until_the_first_lets_go() {
    let (_folder, path) = place();
    let first = StateFile::lock(&path).unwrap();
    let message = StateFile::lock(&path).unwrap_err().to_string();
    assert!(message.contains(&format!("another isobar is running (pid {},", std::process::id())), "{message}");
    assert_eq!(message.lines().count(), 1);
    drop(first);
    StateFile::lock(&path).unwrap();
}

#[test]
fn broken_files_are_named_with_the_remedy_in_one_line() {
    let (_folder, path) = place();
    let file = StateFile::lock(&path).unwrap();
    let whole = whole();
    let misspelt = whole.replace("\"pages\"", "\"pagez\"");
    let newer = whole.replace("\"version\":1", "\"version\":2");
    let unprintable = whole.replace("\"pages\"", r#""pages\n\u001b[2J""#);
    let empty = r#"{"start":1,"since":1,"history":"","original":{"cpus":"","pinned":false},"threads":{}}"#;
    let of_nobody = whole.replace("\"processes\":{}", &format!("\"processes\":{{\"0\":{empty}}}"));
    for text in ["", "{", "[]", &whole[..whole.len() - 1], &misspelt, &newer, &unprintable, &of_nobody] {
        fs::write(&path, text).unwrap();
        let message = file.load().unwrap_err().to_string();
        assert!(message.contains("state.json") && message.contains("delete it"), "{message}");
        assert!(!message.contains(char::is_control), "{message}");
    }
    fs::write(&path, [0xff, 0xfe]).unwrap();
    assert!(file.load().unwrap_err().to_string().contains("not text"));
    // Too large, but sparse: it takes no space on disk.
    OpenOptions::new().write(true).open(&path).unwrap().set_len(MOST_BYTES + 5).unwrap();
    let message = file.load().unwrap_err().to_string();
    assert!(message.contains("larger than 256 MiB"), "{message}");
}

#[test]
fn only_a_regular_file_is_opened_and_nothing_is_waited_for() {
    let (folder, path) = place();
    let file = StateFile::lock(&path).unwrap();
    let elsewhere = folder.path().join("elsewhere");
    fs::write(&elsewhere, whole()).unwrap();
    let makes: [(&str, &dyn Fn()); 4] = [
        ("a symbolic link", &|| symlink(&elsewhere, &path).unwrap()),
        ("a symbolic link", &|| symlink("nowhere", &path).unwrap()),
        ("a folder", &|| fs::create_dir(&path).unwrap()),
        ("a fifo", &|| mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap()),
    ];
    for (kind, make) in makes {
        make();
        let message = file.load().unwrap_err().to_string();
        assert!(message.contains(&format!("is {kind}, not a state file")), "{message}");
        let existing = StateFile::existing(&path);
        assert!(matches!(&existing, Err(ActuatorError::NotAFile { is, .. }) if *is == kind), "{existing:?}");
        fs::remove_file(&path).or_else(|_| fs::remove_dir(&path)).unwrap();
    }
    assert!(matches!(StateFile::existing(Path::new("/dev/zero")), Err(ActuatorError::NotAFile { is: "a device", .. })));
}

#[test]
fn what_others_may_write_to_is_not_believed() {
    let (_folder, path) = place();
    let file = StateFile::lock(&path).unwrap();
    fs::write(&path, whole()).unwrap();
    for mode in [0o620, 0o602, 0o666] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert!(matches!(file.load(), Err(ActuatorError::Unsafe { .. })), "{mode:o}");
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(file.load().is_ok());
    drop(file);
    let folder = path.parent().unwrap();
    for mode in [0o1777, 0o770] {
        fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
        assert!(matches!(StateFile::lock(&path), Err(ActuatorError::Unsafe { .. })), "{mode:o}");
        assert!(matches!(StateFile::existing(&path), Err(ActuatorError::Unsafe { .. })), "{mode:o}");
    }
}

#[test]
fn a_name_made_beforehand_is_not_written_through() {
    let (folder, path) = place();
    let file = StateFile::lock(&path).unwrap();
    let victim = folder.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    // The fixed name that an older version used for its temporary file, and the state file itself,
    // as links.
    for name in ["state.json.new", "state.json"] {
        symlink(&victim, path.with_file_name(name)).unwrap();
    }
    file.save(&Ledger::new("boot".into())).unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert!(fs::symlink_metadata(&path).unwrap().is_file());
}

#[test]
fn leftovers_of_a_killed_write_are_removed_and_nothing_else() {
    let (_folder, path) = place();
    drop(StateFile::lock(&path).unwrap());
    let folder = path.parent().unwrap();
    // Ascending.
    let kept =
        [".other.0123456789abcdef.new", ".state.json.0123456789abcd_f.new", ".state.json.abc.new", ".state.json.new"];
    for name in kept.into_iter().chain([".state.json.0123456789abcdEF.new"]) {
        fs::write(folder.join(name), "").unwrap();
    }
    let _file = StateFile::lock(&path).unwrap();
    let mut left = names(folder);
    left.sort();
    assert_eq!(left, kept);
}

#[test]
fn where_there_is_no_file_or_no_folder_can_be_nothing_is_made() {
    let (folder, path) = place();
    assert!(StateFile::existing(&path).unwrap().is_none());
    fs::write(folder.path().join("file"), "").unwrap();
    let blocked = folder.path().join("file/state.json");
    assert!(matches!(StateFile::existing(&blocked), Err(ActuatorError::State { .. })));
    let message = StateFile::lock(&blocked).unwrap_err().to_string();
    assert!(message.contains("make the folder") && message.contains("nothing is changed"), "{message}");
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn a_folder_that_was_replaced_is_noticed() {
    let (_folder, path) = place();
    let file = StateFile::lock(&path).unwrap();
    fs::remove_dir(path.parent().unwrap()).unwrap();
    let _other = StateFile::lock(&path).unwrap();
    let message = file.save(&Ledger::new("boot".into())).unwrap_err().to_string();
    assert!(message.contains("it was replaced"), "{message}");
}
