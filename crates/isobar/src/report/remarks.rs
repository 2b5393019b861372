//! Which remarks of a machine are news while a run goes on. The header tells those of the beginning, and most that come up later say again
//! what it said (a privilege that is missing). What the test backend says of its page is news: from then on nothing is counted. It is told
//! once, whatever figures it has the next time.

use std::collections::BTreeSet;

/// How the test backend's remarks about its page begin.
const OF_THE_PAGE: &str = "numasim: ";

/// What was told.
#[derive(Debug, Default)]
pub struct Told(BTreeSet<String>);

impl Told {
    /// The remarks that are news; from now on they are told.
    pub fn fresh(&mut self, remarks: &[String]) -> Vec<String> {
        let news = remarks.iter().filter(|remark| remark.starts_with(OF_THE_PAGE));
        news.filter(|remark| self.0.insert(kind(remark))).cloned().collect()
    }
}

/// A remark without its figures.
fn kind(remark: &str) -> String {
    remark.chars().filter(|c| !c.is_ascii_digit()).collect()
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
        assert_eq!(fresh(&["numasim: gave up"]), ["numasim: gave up"]);
    }
}
