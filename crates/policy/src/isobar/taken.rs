//! Whether the kernel moved a program away from the node of its pages. It does so when it evens out
//! idle CPUs, because it knows nothing of memory.

use super::reading::Reading;

/// Fraction of its pages that may be elsewhere while a program counts as at home.
pub const AT_HOME: f64 = 0.25;

/// What is known about that for a program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Taken {
    /// Whether the kernel did, and the program has not come back since.
    pub is_away: bool,
    /// The time of the last reading.
    read: f64,
}

impl Taken {
    /// Records a reading, given the one before; `moved` is when the policy last moved the program.
    pub fn read(&mut self, before: Option<&Reading>, now: &Reading, moved: Option<f64>, time: f64) {
        let ours = moved.is_some_and(|moved| moved >= self.read);
        self.read = time;
        let Some(remote) = now.remote else { return };
        let was_home = |last: &Reading| last.nodes != now.nodes && last.remote.is_some_and(|remote| remote < AT_HOME);
        if remote < AT_HOME {
            self.is_away = false;
        } else if remote > 1.0 - AT_HOME && !ours && before.is_some_and(was_home) {
            self.is_away = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At home on node 0 for two seconds, on node 1 from the third on, and back in the fifth. If a
    /// change moved it in the second, it was not taken by the kernel.
    #[test]
    fn it_is_away_until_it_comes_back_unless_a_change_moved_it() {
        let away = |moved: Option<f64>| {
            let mut taken = Taken::default();
            let mut before = None;
            let mut seen = Vec::new();
            for (time, node) in (1u8..).zip([0, 0, 1, 1, 0]) {
                let remote = Some(if node == 0 { 0.0 } else { 1.0 });
                let now = Reading { nodes: 1 << node, remote, ..Reading::default() };
                taken.read(before.as_ref(), &now, moved, f64::from(time));
                before = Some(now);
                seen.push(taken.is_away);
            }
            seen
        };
        assert_eq!(away(None), [false, false, true, true, false]);
        assert_eq!(away(Some(1.0)), [false, false, true, true, false]);
        assert_eq!(away(Some(2.0)), [false; 5]);
    }
}
