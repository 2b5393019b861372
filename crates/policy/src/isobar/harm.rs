//! Whether changes would harm a program: compares its predicted loss with what it may lose.

use super::home::home;
use super::math::{ln, sum_of_logs};
use super::memory::Memory;
use super::scene::Scene;
use super::step::Step;
use super::targets::{FORETOLD, is_borne};
use super::traits::Traits;

/// Whether some changes would make a program lose more than it may: a fraction of its speed or, if
/// its owner set no limit, a fifth of what all together would gain. There is one exception: changes
/// may bring a program home that the kernel had taken away from there. The programs beside it had
/// gained by its absence, so each of them may lose up to what all together gain.
#[must_use]
pub fn harms(scene: &Scene, memory: &Memory, steps: &[Step], gains: &[f64]) -> bool {
    let all = sum_of_logs(gains);
    let giving = giving(scene, memory, steps);
    let bears = |at: usize, one: &Traits, loss: f64| {
        one.most.is_none() && (is_borne(one.lost + loss, all, FORETOLD) || loss < all && giving.contains(&at))
    };
    let harmed = |(at, (one, gain)): (usize, (&Traits, &f64))| *gain < one.least && !bears(at, one, -ln(*gain));
    scene.traits.iter().zip(gains).enumerate().any(harmed)
}

/// The programs on the caches to which changes bring others home that the kernel took from there.
fn giving(scene: &Scene, memory: &Memory, steps: &[Step]) -> Vec<usize> {
    let comes_home = |step: &&Step| {
        let goes_home = home(scene, &scene.base, step.unit) == Some(memory.places[step.to].node);
        scene.traits[scene.units[step.unit].program].taken && goes_home
    };
    steps.iter().filter(comes_home).flat_map(|step| scene.on(memory, memory.places[step.to].llc)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isobar::idle::Idle;
    use crate::isobar::stage::stage;
    use crate::test_kit::{observation, process, thread, with_pages};

    /// A program on the first node, whose pages are on the second, would gain 20 % there. The
    /// program that is there would lose 7 %, more than 5 % and more than a fifth of what all gain.
    /// That is harm, unless the kernel took the first program from there. A third program,
    /// elsewhere, may not lose as much, nor may a protected one, nor any program more than all
    /// gain.
    #[test]
    fn who_gained_by_one_that_was_taken_away_gives_it_back() {
        let at = |(pid, cpu): (u32, u32)| process(pid, vec![thread(pid, cpu, 20.0)]);
        let mut seen = observation("node:3 core:4", [(1, 0), (2, 4), (3, 8)].map(at).into());
        [[0, 500, 0], [0, 500, 0], [0, 0, 500]].iter().zip(1..).for_each(|(at, pid)| with_pages(&mut seen, pid, at));
        let (mut scene, memory, _) = stage(&seen, 4, &Idle::default());
        let home = [Step { unit: 0, to: 1, partner: None, pages: None, partner_pages: None }];
        let harms = |scene: &Scene, gains: [f64; 3]| harms(scene, &memory, &home, &gains);
        assert!(harms(&scene, [1.2, 0.93, 1.0]));
        scene.traits[0].taken = true;
        assert!(!harms(&scene, [1.2, 0.93, 1.0]));
        assert!(harms(&scene, [1.2, 1.0, 0.93]) && harms(&scene, [1.05, 0.93, 1.0]));
        scene.traits[1].most = Some(0.0);
        assert!(harms(&scene, [1.2, 0.93, 1.0]));
    }
}
