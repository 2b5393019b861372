//! Reads workload lists: one workload per line, names separated by commas; blank lines and text
//! after a `#` are ignored. Does not know what a program does.

use crate::error::{StudyError, nearest};
use isobar_profiles::Profiles;

/// Maximum number of programs in a workload. The cost of heuristics grows with the square of the
/// number and faster: with this many programs, kpart takes seconds and 100 MB.
pub(crate) const MOST_PROGRAMS: usize = 1024;

/// Programs that run together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// The line in its file (the position in a file of solutions), from 1.
    pub line: usize,
    /// Names, in order; a name may occur several times.
    pub programs: Vec<String>,
}

/// Reads a list. If `known` is given, every program must be in it.
///
/// # Errors
/// [`StudyError::File`] with the line: an unknown program and the names nearest to it, an empty
/// name, or no workload at all.
pub fn parse(file: &str, text: &str, known: Option<&Profiles>) -> Result<Vec<Workload>, StudyError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut workloads = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let content = line.split('#').next().unwrap_or_default().trim();
        if content.is_empty() {
            continue;
        }
        let count = content.split(',').count();
        if count > MOST_PROGRAMS {
            return Err(StudyError::file(file, format!("line {}: {}", index + 1, too_many(count))));
        }
        let programs: Vec<String> = content.split(',').map(|name| name.trim().to_owned()).collect();
        programs.iter().try_for_each(|name| check(file, index + 1, name, known))?;
        workloads.push(Workload { line: index + 1, programs });
    }
    if workloads.is_empty() {
        return Err(StudyError::file(
            file,
            "holds no workload: write the names of one, separated by commas, on a line",
        ));
    }
    Ok(workloads)
}

/// The message for a workload that no algorithm could answer in reasonable time.
pub(crate) fn too_many(programs: usize) -> String {
    format!("{programs} programs in a workload: at most {MOST_PROGRAMS} run together; one line is one workload")
}

fn check(file: &str, line: usize, name: &str, known: Option<&Profiles>) -> Result<(), StudyError> {
    if name.is_empty() {
        return Err(StudyError::file(file, format!("line {line}: an empty name: separate names by single commas")));
    }
    match known.filter(|known| known.profile(name).is_none()) {
        Some(known) => Err(StudyError::file(file, format!("line {line}: {}", unknown(name, known)))),
        None => Ok(()),
    }
}

/// The message for a program that the profiles lack.
pub(crate) fn unknown(name: &str, known: &Profiles) -> String {
    let other = format!("{} has {} programs", known.file(), known.names().count());
    format!("unknown program `{name}`{}", nearest(name, known.names(), &other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Profiles {
        let curves = |name: &str| format!("[[program]]\nname = \"{name}\"\nipc = [1.0, 2.0]\nllcmpki = [2.0, 1.0]\n");
        isobar_profiles::read("p.toml", &["lbm", "milc", "mcf"].map(curves).concat()).unwrap()
    }

    #[test]
    fn lines_and_comments() {
        let text = "# two\n\nlbm, milc\n  mcf,mcf  # twice\r\n";
        let read = parse("w.txt", text, Some(&known())).unwrap();
        assert_eq!(
            read.iter().map(|one| (one.line, one.programs.join("+"))).collect::<Vec<_>>(),
            [(3, "lbm+milc".to_owned()), (4, "mcf+mcf".to_owned())]
        );
    }

    #[test]
    fn what_is_wrong_is_reported_with_its_line() {
        let said = |text| parse("w.txt", text, Some(&known())).unwrap_err().to_string();
        assert_eq!(said("lbm\n\nlbm,mlic\n"), "w.txt: line 3: unknown program `mlic`; did you mean `milc`?");
        assert_eq!(said("zzzz"), "w.txt: line 1: unknown program `zzzz`; p.toml has 3 programs");
        assert!(said("lbm,,mcf").starts_with("w.txt: line 1: an empty name"));
        assert!(said("# nothing\n").starts_with("w.txt: holds no workload"));
        let many = vec!["lbm"; MOST_PROGRAMS];
        assert!(parse("w.txt", &many.join(","), Some(&known())).is_ok());
        let more = vec!["lbm"; 100_000].join(",");
        let expected =
            "w.txt: line 1: 100000 programs in a workload: at most 1024 run together; one line is one workload";
        assert_eq!(said(&more), expected);
        assert!(!said("a\u{1b}[2J").contains(char::is_control));
    }
}
