//! Whether the kernel migrates pages to a program (NUMA balancing). It does if the remote pages
//! become fewer without isobar's doing.

use super::reading::Reading;

/// Number of epochs in a row without fewer remote pages, after which the kernel is taken to leave
/// them where they are.
const STAYING: u32 = 8;

/// What is known about that for a program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Follows {
    /// Whether it does; not known before some pages were remote.
    pub known: Option<bool>,
    staying: u32,
}

impl Follows {
    /// Records a reading, given the one before. If the program has gone to other nodes since, or
    /// pages were under way, the reading says nothing.
    pub fn read(&mut self, before: Option<&Reading>, now: &Reading) {
        let Some((last, was, is)) = before.and_then(|last| Some((last, last.remote?, now.remote?))) else { return };
        if now.disturbed || last.disturbed || last.nodes != now.nodes || was < 0.05 {
            self.staying = 0;
            return;
        }
        if is < was - 0.01 {
            (self.known, self.staying) = (Some(true), 0);
        } else if is <= was + 0.01 {
            self.staying += 1;
            if self.staying >= STAYING {
                self.known = Some(false);
            }
        }
    }
}
