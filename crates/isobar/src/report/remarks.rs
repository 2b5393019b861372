//! Decides which remarks of a machine are news during a run: those whose message was neither in the
//! header nor in an earlier epoch. A message is printed once, even if its figures change later.

use super::kind::kind;
use std::collections::BTreeSet;

/// The messages that were printed.
#[derive(Debug, Default)]
pub struct Printed(BTreeSet<String>);

impl Printed {
    /// The remarks that are news. From now on they count as known.
    pub fn fresh(&mut self, remarks: &[String]) -> Vec<String> {
        remarks.iter().filter(|remark| self.0.insert(kind(remark))).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remark_is_printed_once_and_other_figures_are_no_news() {
        let mut printed = Printed::default();
        let mut fresh =
            |remarks: &[&str]| printed.fresh(&remarks.iter().map(|remark| (*remark).into()).collect::<Vec<_>>());
        assert_eq!(fresh(&["numad is running"]), ["numad is running"]);
        assert_eq!(fresh(&["numad is running", "2 threads may not be counted"]), ["2 threads may not be counted"]);
        assert_eq!(fresh(&["1 thread may not be counted"]), [""; 0]);
        assert_eq!(fresh(&["the kernel dropped 3 events", "numad is running"]), ["the kernel dropped 3 events"]);
    }
}
