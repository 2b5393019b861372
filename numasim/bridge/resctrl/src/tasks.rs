//! Where the threads of groups run, and how much: their files in `/proc`, which are kept open. A
//! thread that ended says nothing any more.

use crate::place::Spot;
use isobar_resctrl_double::Owner;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Threads that are looked at.
#[derive(Debug, Default)]
pub struct Tasks(BTreeMap<u32, Watched>);

#[derive(Debug)]
struct Watched {
    owner: Owner,
    stat: File,
    /// `schedstat`, whose first number is nanoseconds on a CPU (Documentation/scheduler).
    ran: File,
    ran_ns: u64,
}

impl Tasks {
    /// These, and no others, from now on; what is known of one that stays is kept.
    pub fn watch(&mut self, wanted: &BTreeMap<u32, Owner>) {
        let mut before = std::mem::take(&mut self.0);
        for (tid, owner) in wanted {
            let same = |known: &Watched| known.owner.leader == owner.leader;
            let known = before.remove(tid).filter(same).map(|known| Watched { owner: *owner, ..known });
            if let Some(watched) = known.or_else(|| Watched::open(*tid, *owner)) {
                self.0.insert(*tid, watched);
            }
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Where each is now, and for how long it ran since the last look.
    pub fn look(&mut self) -> Vec<Spot> {
        self.0.values_mut().filter_map(Watched::look).collect()
    }
}

impl Watched {
    fn open(tid: u32, owner: Owner) -> Option<Self> {
        let open = |name| File::open(format!("/proc/{}/task/{tid}/{name}", owner.leader)).ok();
        let (stat, ran) = (open("stat")?, open("schedstat")?);
        let ran_ns = first_number(&text(&ran)?)?;
        Some(Self { owner, stat, ran, ran_ns })
    }

    fn look(&mut self) -> Option<Spot> {
        let cpu = processor(&text(&self.stat)?)?;
        let now = first_number(&text(&self.ran)?)?;
        let before = std::mem::replace(&mut self.ran_ns, now);
        let class = usize::try_from(self.owner.rmid).ok()?;
        Some(Spot { cpu, class, ran_ns: now.saturating_sub(before) })
    }
}

/// What a file says now, from its beginning; longer ones are cut off.
fn text(file: &File) -> Option<String> {
    let mut bytes = [0; 1024];
    let length = file.read_at(&mut bytes, 0).ok()?;
    Some(String::from_utf8_lossy(bytes.get(..length)?).into_owned())
}

fn first_number(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}

/// Field 39 of a `stat` line; the name before may hold blanks and brackets (proc_pid_stat(5)).
fn processor(stat: &str) -> Option<usize> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(36)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_of_ours_is_somewhere_and_runs() {
        let own = std::process::id();
        let mut tasks = Tasks::default();
        tasks.watch(&BTreeMap::from([(own, Owner { leader: own, rmid: 3 }), (u32::MAX, Owner { leader: 1, rmid: 1 })]));
        let spots = tasks.look();
        assert!(spots.len() == 1 && spots[0].class == 3, "{spots:?}");
        tasks.watch(&BTreeMap::new());
        assert!(tasks.is_empty());
    }

    #[test]
    fn the_cpu_is_read_past_an_awkward_name() {
        let fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        assert_eq!(processor(&format!("7 (a) b) {}", fields.join(" "))), Some(39));
    }
}
