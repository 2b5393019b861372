//! Which remarks of a machine are news while a run goes on. The header has those of the beginning, and most that come up later
//! say again what it said (a privilege that is missing). News is what the test backend says of its page, since from then
//! on nothing is counted, and that the kernel dropped events. Each is printed once, whatever figures it has the next time.

use super::kind::kind;
use std::collections::BTreeSet;

/// How remarks begin that are news whenever they come up.
const NEWS: [&str; 2] = ["numasim: ", "the kernel dropped "];

/// What was printed.
#[derive(Debug, Default)]
pub struct Told(BTreeSet<String>);

impl Told {
    /// The remarks that are news; from now on they are known.
    pub fn fresh(&mut self, remarks: &[String]) -> Vec<String> {
        let news = remarks.iter().filter(|remark| NEWS.iter().any(|news| remark.starts_with(news)));
        news.filter(|remark| self.0.insert(kind(remark))).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remark_is_told_once_and_other_figures_are_no_news() {
        let mut told = Told::default();
        let mut fresh =
            |remarks: &[&str]| told.fresh(&remarks.iter().map(|remark| (*remark).into()).collect::<Vec<_>>());
        assert_eq!(fresh(&["CAP_SYS_PTRACE is missing"]), [""; 0]);
        assert_eq!(fresh(&["numad is running", "numasim: stands still at 3"]), ["numasim: stands still at 3"]);
        assert_eq!(fresh(&["numasim: stands still at 5"]), [""; 0]);
        let news = ["numasim: gave up", "the kernel dropped process events"];
        assert_eq!(fresh(&news), news);
    }
}
