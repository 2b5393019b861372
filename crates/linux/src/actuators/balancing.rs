//! Switches the kernel's NUMA balancing (`kernel.numa_balancing`,
//! `Documentation/admin-guide/sysctl/kernel.rst`) off for the time of a run, if that is requested,
//! and puts it back. The switch is for the whole machine. Its second bit, memory tiering, stays as
//! it is.

use serde::{Deserialize, Serialize};
use std::path::Path;
use std::{fs, io};

/// The switch.
pub const SWITCH: &str = "/proc/sys/kernel/numa_balancing";

/// The bit with which the kernel migrates pages to the threads that use them.
const BALANCING: u32 = 1;

/// What isobar did to the switch, for the state file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BalancingRecord {
    /// The value that was there.
    pub before: u32,
    /// The value that isobar wrote, or is about to write.
    pub ours: u32,
}

/// The record for switching it off; `None` if it is off already, or if this kernel does not have
/// it.
///
/// # Errors
/// The kernel's error, or that the file has no number.
pub fn intend(switch: &Path) -> io::Result<Option<BalancingRecord>> {
    let before = match read(switch) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read?,
    };
    Ok((before & BALANCING != 0).then_some(BalancingRecord { before, ours: before & !BALANCING }))
}

/// Does what the record says.
///
/// # Errors
/// The kernel's error.
pub fn carry_out(switch: &Path, record: &BalancingRecord) -> io::Result<()> {
    fs::write(switch, record.ours.to_string())
}

/// Puts the previous value back. Returns false if someone else has changed it meanwhile: then their
/// value stays.
///
/// # Errors
/// The kernel's error.
pub fn put_back(switch: &Path, record: &BalancingRecord) -> io::Result<bool> {
    let now = read(switch)?;
    if now == record.ours {
        fs::write(switch, record.before.to_string())?;
    }
    // If it is as it was before, isobar ended before it changed the switch.
    Ok(now == record.ours || now == record.before)
}

fn read(switch: &Path) -> io::Result<u32> {
    let text = fs::read_to_string(switch)?;
    text.trim()
        .parse()
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, format!("not a number: {:?}", text.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::folder;

    /// The content of the file after it was switched off, whether it was put back after someone
    /// wrote `meanwhile`, and the content then.
    fn through(before: &str, meanwhile: Option<&str>) -> (String, bool, String) {
        let folder = folder(&[("switch", before)]);
        let switch = folder.path().join("switch");
        let text = || fs::read_to_string(&switch).unwrap();
        let record = intend(&switch).unwrap().unwrap();
        carry_out(&switch, &record).unwrap();
        let off = text();
        meanwhile.iter().for_each(|theirs| fs::write(&switch, theirs).unwrap());
        (off, put_back(&switch, &record).unwrap(), text())
    }

    #[test]
    fn what_was_there_comes_back_and_tiering_stays() {
        assert_eq!(through("1\n", None), ("0".into(), true, "1".into()));
        assert_eq!(through("3\n", None), ("2".into(), true, "3".into()));
    }

    #[test]
    fn what_someone_else_wrote_is_theirs_and_what_was_not_done_needs_nothing() {
        assert_eq!(through("1\n", Some("2")), ("0".into(), false, "2".into()));
        assert_eq!(through("1\n", Some("1")), ("0".into(), true, "1".into()));
    }

    #[test]
    fn there_is_nothing_to_do_where_it_is_off_or_is_not_there() {
        let folder = folder(&[("off", "0\n"), ("tiering", "2\n"), ("none", "x\n")]);
        let of = |name: &str| intend(&folder.path().join(name));
        assert_eq!([of("off").unwrap(), of("tiering").unwrap(), of("missing").unwrap()], [None; 3]);
        assert!(of("none").unwrap_err().to_string().contains("not a number: \"x\""));
    }
}
