//! Whether the kernel migrates pages to a program (NUMA balancing). It does if remote pages become
//! local without isobar's doing. Fewer remote pages alone are no sign of it, and neither is a
//! smaller fraction: a program may free remote memory, or touch new memory where it runs.

use super::reading::Reading;

/// Number of epochs in a row without fewer remote pages, after which the kernel is taken to leave
/// them where they are.
const STAYING: u32 = 8;
/// Number of such epochs after which the pages are taken to be where they are for now, whatever the
/// kernel did earlier, or does for other programs: the program's turn may come later.
const STAYING_SO_FAR: u32 = 2;
/// The same once the pages of a large program are counted in every fifth epoch only, and look the
/// same in between (`pages_every` of the sensors).
const STAYING_COUNTED_RARELY: u32 = 6;
/// Number of epochs for which the pages of a new program are counted in each.
const COUNTED_EACH_TIME: u32 = 5;
/// Least fraction of the pages that is remote when the kernel has something to migrate.
const REMOTE: f64 = 0.05;
/// Fraction of the pages whose migration shows.
const SHOWS: f64 = 0.01;

/// What is known about that for a program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Follows {
    /// Whether it does; not known before some pages were remote.
    pub known: Option<bool>,
    staying: u32,
    /// Number of readings so far.
    readings: u32,
}

impl Follows {
    /// Records a reading, given the one before. If the program has gone to other nodes since, or
    /// pages were under way, the reading says nothing.
    pub fn read(&mut self, before: Option<&Reading>, now: &Reading) {
        self.readings = self.readings.saturating_add(1);
        let Some((last, was, is)) = before.and_then(|last| Some((last, last.split()?, now.split()?))) else {
            self.staying = 0;
            return;
        };
        let all = was.remote + was.local;
        if now.disturbed || last.disturbed || last.nodes != now.nodes || was.remote < REMOTE * all {
            self.staying = 0;
            return;
        }
        let (left, came) = (was.remote - is.remote, is.local - was.local);
        if left > SHOWS * all && came > 0.5 * left {
            (self.known, self.staying) = (Some(true), 0);
        } else if left.abs() <= SHOWS * all {
            self.staying += 1;
            if self.staying >= STAYING {
                self.known = Some(false);
            }
        }
    }

    /// Whether the kernel migrates pages to the program now, or would if it had remote ones: as
    /// observed for itself or, if that is not known, for any other program (`of_others`).
    #[must_use]
    pub fn is_so(&self, of_others: bool) -> bool {
        let is_new = self.readings <= COUNTED_EACH_TIME;
        let enough = if is_new { STAYING_SO_FAR } else { STAYING_COUNTED_RARELY };
        self.known.unwrap_or(of_others) && self.staying < enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is known after readings of a program that stays on its nodes, with these remote and
    /// local pages.
    fn known(pages: &[(f64, f64)]) -> Follows {
        let mut follows = Follows::default();
        let readings = pages.iter().map(|(remote, local)| Reading {
            remote: Some(remote / (remote + local)),
            resident: remote + local,
            ..Reading::default()
        });
        let readings: Vec<Reading> = readings.collect();
        follows.read(None, &readings[0]);
        readings.windows(2).for_each(|two| follows.read(Some(&two[0]), &two[1]));
        follows
    }

    /// Of 900 remote and 100 local pages: 50 come; 50 are freed; 50 new ones are touched where the
    /// program runs; 40 are swapped out while 10 others come.
    #[test]
    fn pages_must_come_here_from_elsewhere() {
        let then = |now| known(&[(900.0, 100.0), now]).known;
        assert_eq!(then((850.0, 150.0)), Some(true));
        assert_eq!([(850.0, 100.0), (900.0, 150.0), (850.0, 110.0)].map(then), [None; 3]);
    }

    /// 900 of 1,000 pages are remote, and the program touches 30 new ones in each epoch. For two
    /// epochs it may be like others, to which the kernel migrates pages; after eight the kernel is
    /// known to leave its pages alone. It is the same if some of its own pages were migrated first.
    #[test]
    fn pages_that_stay_are_where_they_are_whatever_came_before() {
        let growing: Vec<(f64, f64)> = (0..9u32).map(|epoch| (900.0, 100.0 + 30.0 * f64::from(epoch))).collect();
        let is_so = |epochs: usize, of_others: bool| known(&growing[..=epochs]).is_so(of_others);
        assert!(is_so(0, true) && is_so(1, true) && !is_so(2, true) && !is_so(0, false));
        assert_eq!([7, 8].map(|epochs| known(&growing[..=epochs]).known), [None, Some(false)]);
        let after_some = |epochs: usize| known(&[&[(950.0, 50.0)], &growing[..=epochs]].concat());
        assert_eq!([0, 1, 2, 8].map(|epochs| after_some(epochs).is_so(false)), [true, true, false, false]);
        assert_eq!([7, 8].map(|epochs| after_some(epochs).known), [Some(true), Some(false)]);
    }
}
