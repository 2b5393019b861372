//! Programs over time, and which program slows down which.

use crate::data::{Harm, Program};
use crate::series::{Series, brief};
use isobar_model::Pid;
use isobar_model::num;
use isobar_model::text::plain;
use isobar_view::{ProgramView, View};
use std::collections::BTreeMap;

/// Maximum number of programs shown: those with the most CPU time.
const PROGRAMS: usize = 120;
/// Number of programs whose pages are shown over time.
const WITH_PAGES: usize = 20;
/// A program is forgotten if this number of others are busier. So memory stays bounded on a machine
/// that starts a thousand programs a minute.
const REMEMBERED: usize = 4000;

/// A program: its process and its name, because process ids are reused.
pub type Key = (Pid, String);

/// All programs.
#[derive(Debug, Default)]
pub struct Programs {
    seen: BTreeMap<Key, Program>,
    harms: BTreeMap<(Key, Key), f64>,
    epochs: u32,
    forgotten: usize,
}

impl Programs {
    /// Adds an epoch.
    pub fn take(&mut self, span: usize, view: &View) {
        self.epochs += 1;
        for program in &view.programs {
            let key = key(program);
            for harm in &program.harmed_by {
                *self.harms.entry((key.clone(), (harm.pid, harm.name.clone()))).or_default() += harm.gain;
            }
            let one = self.seen.entry(key).or_insert_with(|| named(program));
            add(one, span, program);
        }
        if self.seen.len() > REMEMBERED {
            self.forget();
        }
    }

    fn forget(&mut self) {
        let mut busy: Vec<(f64, Key)> = self.seen.iter().map(|(key, one)| (weight(one), key.clone())).collect();
        busy.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (_, key) in busy.split_off(REMEMBERED / 2) {
            self.seen.remove(&key);
            self.forgotten += 1;
        }
        self.harms.retain(|(of, by), _| self.seen.contains_key(of) && self.seen.contains_key(by));
    }

    /// The busiest programs, the busiest first; the position of each; which of them slows down
    /// which; and how many other programs there were.
    pub fn finish(self) -> (Vec<Program>, BTreeMap<Key, usize>, Vec<Harm>, usize) {
        let count = self.seen.len() + self.forgotten;
        let mut all: Vec<(Key, Program)> = self.seen.into_iter().collect();
        all.sort_by(|a, b| weight(&b.1).total_cmp(&weight(&a.1)).then(a.0.cmp(&b.0)));
        all.truncate(PROGRAMS);
        all.iter_mut().skip(WITH_PAGES).for_each(|(_, one)| one.pages.clear());
        let positions: BTreeMap<Key, usize> = all.iter().enumerate().map(|(at, (key, _))| (key.clone(), at)).collect();
        let epochs = f64::from(self.epochs.max(1));
        let harm = |((of, by), sum): (&(Key, Key), &f64)| {
            let (of, by) = (*positions.get(of)?, *positions.get(by)?);
            Some(Harm { of, by, gain: brief(sum / epochs) }).filter(|harm| harm.gain >= LEAST)
        };
        let harms = self.harms.iter().filter_map(harm).collect();
        let left_out = count - all.len();
        (all.into_iter().map(|(_, one)| one).collect(), positions, harms, left_out)
    }
}

/// Least harm that is shown, as a fraction of a program's speed.
const LEAST: f64 = 0.002;

/// The key of a program.
pub fn key(program: &ProgramView) -> Key {
    (program.pid, program.name.clone())
}

fn named(program: &ProgramView) -> Program {
    Program { pid: program.pid, name: plain(&program.name).into_owned(), ..Program::default() }
}

fn add(one: &mut Program, span: usize, program: &ProgramView) {
    one.cpus.add(span, program.cpus);
    one.slowdown.add(span, program.slowdown);
    one.mpki.add(span, program.mpki);
    one.ipc.add(span, program.ipc);
    one.bandwidth.add(span, program.bandwidth);
    one.remote.add(span, program.remote);
    let pages = program.pages.as_deref().unwrap_or_default();
    if one.pages.len() < pages.len() {
        one.pages.resize_with(pages.len(), Series::default);
    }
    one.pages.iter_mut().zip(pages).for_each(|(series, pages)| series.add(span, Some(num::float(*pages))));
}

/// How much of the machine a program used: its CPU time.
fn weight(one: &Program) -> f64 {
    one.cpus.sum()
}
