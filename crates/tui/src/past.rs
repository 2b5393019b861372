//! The views that are kept, and which of them is shown: the newest, or a past one.

use isobar_view::View;
use std::collections::VecDeque;
use std::sync::Arc;

/// Maximum number of views that are kept.
const MOST: usize = 600;
/// Maximum number of rows of programs and threads in all kept views: about 60 MB.
const MOST_ROWS: usize = 200_000;
/// Number of views that are kept however many rows they have.
const LEAST: usize = 10;

/// The views of a run so far.
#[derive(Debug, Default)]
pub struct Past {
    kept: VecDeque<Arc<View>>,
    rows: usize,
    /// Number of views that came before the first one kept.
    dropped: u64,
    /// The view that is shown, counted from the beginning; `None`: the newest.
    at: Option<u64>,
}

impl Past {
    /// Adds the next view.
    pub fn take(&mut self, view: Arc<View>) {
        self.rows += rows(&view);
        self.kept.push_back(view);
        while self.kept.len() > MOST || (self.rows > MOST_ROWS && self.kept.len() > LEAST) {
            let Some(oldest) = self.kept.pop_front() else { return };
            self.rows -= rows(&oldest);
            self.dropped += 1;
        }
        self.at = self.at.map(|at| at.max(self.dropped));
    }

    /// The view that is shown.
    pub fn now(&self) -> Option<&Arc<View>> {
        match self.at {
            Some(at) => self.kept.get(usize::try_from(at - self.dropped).ok()?),
            None => self.kept.back(),
        }
    }

    /// The newest view.
    pub fn newest(&self) -> Option<&Arc<View>> {
        self.kept.back()
    }

    /// Whether a past view is shown, or the picture is frozen.
    pub const fn is_frozen(&self) -> bool {
        self.at.is_some()
    }

    /// Freezes the present view, or follows the newest view again.
    pub fn freeze(&mut self, frozen: bool) {
        self.at = if frozen { self.at.or_else(|| self.last()) } else { None };
    }

    /// Goes back or forward by a number of epochs; returns whether that went beyond the newest
    /// view.
    pub fn travel(&mut self, epochs: i64) -> bool {
        let Some(last) = self.last() else { return epochs > 0 };
        let to = self.at.unwrap_or(last).saturating_add_signed(epochs);
        self.at = Some(to.clamp(self.dropped, last));
        to > last
    }

    fn last(&self) -> Option<u64> {
        let count = u64::try_from(self.kept.len()).ok()?;
        (self.dropped + count).checked_sub(1).filter(|_| count > 0)
    }
}

fn rows(view: &View) -> usize {
    view.programs.iter().map(|program| 1 + program.threads.len()).sum::<usize>() + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_view::ProgramView;

    fn past(views: u64, programs: usize) -> Past {
        let mut past = Past::default();
        for number in 1..=views {
            let programs = vec![ProgramView::default(); programs];
            past.take(Arc::new(View { number, programs, ..View::default() }));
        }
        past
    }

    #[test]
    fn it_travels_within_what_is_kept() {
        let mut past = past(700, 1);
        assert_eq!((past.kept.len(), past.now().unwrap().number), (600, 700));
        assert!(!past.travel(-3) && past.now().unwrap().number == 697);
        assert!(!past.travel(3) && past.is_frozen());
        assert!(past.travel(1), "beyond the newest");
        past.travel(-10_000);
        assert_eq!(past.now().unwrap().number, 101);
        past.take(Arc::new(View { number: 701, ..View::default() }));
        assert_eq!(past.now().unwrap().number, 102, "what is looked at was dropped");
        past.freeze(false);
        assert_eq!(past.now().unwrap().number, 701);
    }

    #[test]
    fn many_rows_are_kept_for_fewer_epochs() {
        assert_eq!(past(100, 9_999).kept.len(), 20);
        assert_eq!(past(30, 300_000).kept.len(), 10);
        assert!(past(0, 0).now().is_none());
    }
}
