//! A static study, as `isobar study --json` prints it, with one answer per line.

mod figures;
mod words;

pub use figures::{App, Row, Study};

use crate::data::Head;
use crate::page::{DOTS, page};
use isobar_model::text::plain;
use serde_json::Value;

impl Study {
    /// Whether a line looks like one of `isobar study --json`.
    #[must_use]
    pub fn is(document: &Value) -> bool {
        ["algorithm", "apps", "proved_optimal"].iter().all(|key| document.get(key).is_some())
    }

    /// A report on these answers.
    #[must_use]
    pub fn of(mut rows: Vec<Row>, head: Head) -> Self {
        rows.iter_mut().for_each(Row::complete);
        let mut study = Self { head, summary: Vec::new(), rows };
        study.head.facts.extend(words::facts(&study));
        study.head.remarks.extend(words::remarks(&study));
        study.summary = words::of(&study);
        study
    }

    /// The page as one file of HTML.
    #[must_use]
    pub fn html(&self) -> String {
        page("study", &self.head.title, &self.summary, &[DOTS, include_str!("../assets/study.js")], self)
    }
}

impl Row {
    /// Escapes characters in names that would reorder or hide what is read, and converts masks to
    /// positions.
    fn complete(&mut self) {
        self.algorithm = plain(&self.algorithm).into_owned();
        self.problem = self.problem.as_deref().map(|why| plain(why).into_owned());
        for app in &mut self.apps {
            app.name = plain(&app.name).into_owned();
            let digits = app.way_mask.as_deref().and_then(|mask| mask.strip_prefix("0x"));
            let mask = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
            app.first_way = mask.filter(|mask| *mask != 0).map(u64::trailing_zeros);
        }
    }
}
