//! The state of the screen: the views that are kept, and what is selected, sorted, filtered and
//! expanded.

use crate::columns::Columns;
use crate::past::Past;
use crate::question::Question;
use crate::rows::{Id, Kind, Row, Sort};
use isobar_view::View;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What is drawn over the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlay {
    /// The keys, and what is not measured.
    Help,
    /// The last decision about the selected program.
    Explain,
    /// What the policy would do now.
    Try,
}

/// The initial state of the screen.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// What is watched: `this machine`, `sim:workload.toml`.
    pub source: String,
    /// What decides, in words: `watching`, `dino decides, dry run`.
    pub mode: String,
    /// Whether to use colour.
    pub colour: bool,
    /// Which kind of rows is shown first.
    pub kind: Kind,
}

/// The screen.
#[derive(Debug)]
pub struct App {
    pub(crate) setup: Setup,
    pub(crate) past: Past,
    pub(crate) kind: Kind,
    pub(crate) sort: Sort,
    pub(crate) columns: Columns,
    pub(crate) filter: String,
    pub(crate) typing: bool,
    pub(crate) overlay: Option<Overlay>,
    pub(crate) selected: Option<Id>,
    pub(crate) expanded: BTreeSet<Id>,
    /// The first row of the table that is drawn.
    pub(crate) first: usize,
    /// Number of rows per page, as drawn last.
    pub(crate) page: isize,
    /// The rows of the table as drawn last, in order.
    pub(crate) order: Vec<Id>,
    /// The machine's status: its speed, or that it has ended.
    pub(crate) status: String,
    /// The question whether to take something back.
    pub(crate) question: Option<Question>,
    /// What is to be taken back, until the caller has fetched it.
    pub(crate) agreed: Option<Question>,
    /// The file that is recorded to.
    pub(crate) recording: Option<String>,
    /// Whether the next view is shown and the picture then frozen again.
    pub(crate) refreeze: bool,
}

impl App {
    /// A screen without a view.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        Self {
            kind: setup.kind,
            setup,
            past: Past::default(),
            sort: Sort::default(),
            columns: Columns::default(),
            filter: String::new(),
            typing: false,
            overlay: None,
            selected: None,
            expanded: BTreeSet::new(),
            first: 0,
            page: 10,
            order: Vec::new(),
            status: String::new(),
            question: None,
            agreed: None,
            recording: None,
            refreeze: false,
        }
    }

    /// Adds the view of the next epoch.
    pub fn take(&mut self, view: Arc<View>) {
        self.past.take(view);
        if std::mem::take(&mut self.refreeze) {
            self.past.freeze(true);
        }
    }

    /// Sets the machine's status.
    pub fn notify(&mut self, status: String) {
        self.status = status;
    }

    /// The newest view.
    #[must_use]
    pub fn newest(&self) -> Option<&Arc<View>> {
        self.past.newest()
    }

    /// The rows of a view: sorted and filtered.
    pub(crate) fn rows<'v>(&self, view: &'v View, groups: &'v [isobar_view::ProgramView]) -> Vec<Row<'v>> {
        let mut rows = self.kind.rows(view, groups);
        rows.retain(|row| row.fits(&self.filter));
        self.sort.sort(&mut rows);
        rows
    }

    /// Selects another row, in the order that was drawn last.
    pub(crate) fn go(&mut self, by: isize) {
        let at = self.selected.and_then(|id| self.order.iter().position(|other| *other == id));
        let Some(last) = self.order.len().checked_sub(1) else { return };
        let to = match at {
            Some(at) => at.saturating_add_signed(by).min(last),
            // The first key press shows where the selection is.
            None if by == isize::MAX => last,
            None => self.first.min(last),
        };
        self.selected = Some(self.order[to]);
    }

    /// Shows more or less of the selected row.
    pub(crate) fn expand(&mut self) {
        if self.selected.is_none() {
            self.go(0);
        }
        if let Some(id) = self.selected
            && !self.expanded.remove(&id)
        {
            self.expanded.insert(id);
        }
    }
}
