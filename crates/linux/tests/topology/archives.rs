//! Archives, whole and damaged: every kind reads as the folder does, and a broken one is refused in
//! one line.

use crate::support::{Capture, l3};
use isobar_linux::topology;
use isobar_linux::tree::{LinuxError, Tree};
use std::path::PathBuf;

fn capture() -> Capture {
    let mut tree = Capture::default().online("0-3").node(0, "0-1", 4096, "10 20").node(1, "2-3", 4096, "20 10");
    for cpu in 0..4 {
        tree = tree.cpu(cpu, &cpu.to_string()).cache(cpu, l3(if cpu < 2 { "0-1" } else { "2-3" }, None));
    }
    tree.link("sys/devices/system/node/node0/cpu0", "../../cpu/cpu0")
}

fn open(name: &str, bytes: &[u8]) -> (tempfile::TempDir, Result<Tree, LinuxError>) {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let tree = Tree::open(&path);
    (folder, tree)
}

fn refusal(name: &str, bytes: &[u8]) -> String {
    let (_folder, tree) = open(name, bytes);
    let said = tree.map(|_| ()).unwrap_err().to_string();
    assert!(said.contains(name) && !said.contains('\n'), "{said}");
    said
}

#[test]
fn every_kind_of_archive_reads_as_the_folder_does() {
    let folder = tempfile::tempdir().unwrap();
    capture().write(folder.path());
    let expected = topology::read(&Tree::open(folder.path()).unwrap()).unwrap();
    for top in ["", "box/", "./"] {
        let archives =
            [("a.tar", capture().tar(top)), ("a.tgz", capture().tar_gz(top)), ("a.bz2", capture().tar_bz2(top))];
        for (name, bytes) in archives {
            let (_folder, tree) = open(name, &bytes);
            assert_eq!(topology::read(&tree.unwrap()).unwrap(), expected, "{name} with `{top}`");
        }
    }
}

#[test]
fn archives_list_and_read_like_folders() {
    let folder = tempfile::tempdir().unwrap();
    capture().write(folder.path());
    let folder_tree = Tree::open(folder.path()).unwrap();
    let (_folder, archive) = open("a.tar", &capture().tar("box/"));
    let archive = archive.unwrap();
    for path in
        ["sys/devices/system/node", "sys/devices/system/node/node0", "sys/devices/system/node/node0/cpu0", "sys/x"]
    {
        assert_eq!(archive.list(path).unwrap(), folder_tree.list(path).unwrap(), "{path}");
    }
    let through_a_link = "sys/devices/system/node/node0/cpu0/cache/index3/level";
    assert_eq!(archive.read(through_a_link).unwrap().as_deref(), Some("3\n"));
    assert_eq!(folder_tree.read(through_a_link).unwrap().as_deref(), Some("3\n"));
}

#[test]
fn an_archive_cut_anywhere_is_refused() {
    for (name, bytes) in
        [("a.tar", capture().tar("")), ("a.tar.gz", capture().tar_gz("")), ("a.tar.bz2", capture().tar_bz2(""))]
    {
        for part in [2, 3, 5, 7, 9] {
            // Plain archives are also cut between two members, because lengths are multiples of a
            // block.
            let cut = (bytes.len() * part / 10) / 512 * 512;
            let cut = if name == "a.tar" { cut } else { bytes.len() * part / 10 };
            let said = refusal(name, &bytes[..cut]);
            assert!(said.contains("truncated or damaged"), "{said}");
        }
    }
}

#[test]
fn every_cut_of_a_plain_archive_is_refused_or_whole() {
    let bytes = capture().tar("");
    let whole = bytes.len() - 1024;
    for cut in (512..whole).step_by(512) {
        let (_folder, tree) = open("a.tar", &bytes[..cut]);
        assert!(tree.is_err(), "cut at {cut} of {whole}");
    }
}

#[test]
fn names_in_a_damaged_archive_stay_on_the_line() {
    let mut bytes = capture().tar("");
    bytes[..6].copy_from_slice(b"a\n\x1b[2J");
    let said = refusal("a.tar", &bytes);
    assert!(said.contains("truncated or damaged") && !said.contains(char::is_control), "{said}");
}

#[test]
fn what_is_no_archive_is_told() {
    assert!(refusal("notes.txt", b"hello").contains("neither a folder nor an archive"));
    assert!(refusal("empty", b"").contains("neither a folder nor an archive"));
    let elsewhere = Capture::default().file("sys/bus/pci/devices/x", "1\n").tar("box/");
    assert!(refusal("pci.tar", &elsewhere).contains("expected `sys/devices/system/cpu` inside"));
}

#[test]
fn an_archive_that_unpacks_to_gigabytes_is_refused() {
    let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    let mut header = tar::Header::new_ustar();
    header.set_size(600 << 20);
    let zeros = std::io::Read::take(std::io::repeat(0), 600 << 20);
    tar.append_data(&mut header, "sys/bus/filler", zeros).unwrap();
    let bytes = tar.into_inner().unwrap().finish().unwrap();
    assert!(refusal("bomb.tar.gz", &bytes).contains("more than 268435456 bytes"));
}

#[test]
fn a_member_larger_than_any_kernel_file_is_refused() {
    let large = capture().file("sys/devices/system/cpu/online", "0,".repeat(1 << 20)).tar("");
    assert!(refusal("large.tar", &large).contains("larger than 1048576 bytes"));
}

#[test]
fn an_archive_of_countless_empty_files_is_refused() {
    // 13 MB of tar, each file in folders of its own: 150 MB as a tree in memory.
    let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    let mut header = tar::Header::new_ustar();
    header.set_size(0);
    for number in 0..25_000 {
        let path = format!("sys/devices/system/node/{number}/b/c/d/e/f/g/h/i");
        tar.append_data(&mut header, path, std::io::empty()).unwrap();
    }
    let bytes = tar.into_inner().unwrap().finish().unwrap();
    assert!(refusal("bomb.tar.gz", &bytes).contains("more than 67108864 bytes"));
}

#[test]
fn a_tree_is_read_from_files_and_folders_only() {
    for device in ["/dev/zero", "/dev/null"] {
        let said = Tree::open(std::path::Path::new(device)).unwrap_err().to_string();
        assert!(said.contains("neither a folder nor an archive"), "{said}");
    }
    let folder = tempfile::tempdir().unwrap();
    capture().write(folder.path());
    let online = folder.path().join("sys/devices/system/cpu/online");
    std::fs::remove_file(&online).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &online, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    let said = topology::read(&Tree::open(folder.path()).unwrap()).unwrap_err().to_string();
    assert!(said.contains("cpu/online: cannot be read: it is a pipe or a device"), "{said}");
    std::fs::remove_file(&online).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &online).unwrap();
    assert!(topology::read(&Tree::open(folder.path()).unwrap()).is_err());
}
