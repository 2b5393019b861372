//! Predicts how an LLC would be shared if a line stayed for a time after its last *use*, as with
//! least-recently-used replacement, and not after its insertion, as in the simulator. It serves
//! only as evidence: it shows whether this is why the simulator's misses differ.
//!
//! ```text
//! fp(t)     bytes that a program touches in a time t; it holds x = fp(T), T the same for all lines
//! dfp / dt  = 64 r m(fp)      what is new in a window would miss if only its bytes were kept
//!                             (Xiang, Ding, Luo, Bao: HOTL, ASPLOS 2013);
//!                             r instructions a second, m misses an instruction
//! 64 T      = c(x) Int_0^x ds / m(s)       c(x) = 1 / r in cycles; the simulator has
//!                                          64 T = c(x) x / m(x), which is more: with it, a program
//!                                          that uses lines again holds too little
//! ```
//!
//! The right side need not rise with `x`: a program that fits runs fast and keeps its lines, a
//! program that does not is slow and loses them, and both states may be stable. Here the first
//! crossing counts, which is what a program reaches that begins in an empty cache.

use crate::derive::Profile;
use isobar_model::num;
use isobar_sim::program::MissCurve;

const KIB: f64 = 1024.0;
const MIB: f64 = 1_048_576.0;
/// Number of steps in which a cache is filled.
const STEPS: usize = 512;
/// Bisections of the range of times, on a logarithmic scale: to one part in 10^9.
const HALVINGS: usize = 90;
/// Misses per instruction below this count as none.
const FEWEST: f64 = 1e-9;

/// A program on an LLC.
#[derive(Clone, Copy, Debug)]
pub struct Sharer<'a> {
    /// Its profile.
    pub profile: &'a Profile,
    /// Latency of a miss to its memory without load, in cycles.
    pub latency: f64,
}

/// By step of the cache: the cycles for which a line must stay, and the misses at that step.
struct Filling {
    needs: Vec<f64>,
    misses: Vec<f64>,
}

/// MPKI of each program if they fill together this many KiB of the LLC on which they were measured.
#[must_use]
pub fn shared(kib: u32, sharers: &[Sharer<'_>]) -> Vec<f64> {
    let step = f64::from(kib) * KIB / num::float_len(STEPS);
    let fillings: Vec<_> = sharers.iter().map(|sharer| Filling::of(sharer, f64::from(kib) / KIB, step)).collect();
    let (mut low, mut high) = (1.0f64, 1e15f64);
    for _ in 0..HALVINGS {
        let middle = (low * high).sqrt();
        let steps: usize = fillings.iter().map(|filling| filling.held(middle)).sum();
        if steps < STEPS { low = middle } else { high = middle }
    }
    fillings.iter().map(|filling| 1000.0 * filling.misses[filling.held(low)]).collect()
}

impl Filling {
    fn of(sharer: &Sharer<'_>, mib: f64, step: f64) -> Self {
        let Sharer { profile, latency } = sharer;
        let way_mib = mib / num::float_len(profile.mpki_by_ways.len().max(1));
        let curve = MissCurve::measured(way_mib, &profile.mpki_by_ways);
        let misses = |bytes: f64| curve.misses(bytes.min(mib * MIB)).max(FEWEST);
        let limit = num::floor(profile.resident_kib * KIB / step).min(u64::try_from(STEPS).unwrap_or(u64::MAX));
        let mut filling = Self { needs: vec![0.0], misses: vec![misses(0.0)] };
        let mut sum = 0.0;
        for at in 1..=limit {
            let space = num::float(at) * step;
            sum += step / misses(space - 0.5 * step);
            filling.needs.push((profile.base_cpi + misses(space) * latency / profile.mlp) * sum / 64.0);
            filling.misses.push(misses(space));
        }
        filling
    }

    /// Number of steps that the program holds if lines stay for `stay` cycles.
    fn held(&self, stay: f64) -> usize {
        self.needs.iter().position(|need| *need > stay).unwrap_or(self.needs.len()).saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(by_ways: &[f64], resident_kib: f64) -> Profile {
        Profile {
            base_cpi: 2.0,
            mlp: 1.0,
            mpki_by_ways: by_ways.to_vec(),
            write_back: 0.0,
            resident_kib,
            fit_error: 0.0,
        }
    }

    fn mpki(profiles: &[&Profile]) -> Vec<f64> {
        shared(512, &profiles.iter().map(|profile| Sharer { profile, latency: 100.0 }).collect::<Vec<_>>())
    }

    /// 40, 30, 20 and 10 MPKI at 128, 256, 384 and 512 KiB. Two equal programs hold 256 KiB each
    /// and have 30 MPKI; three hold 170.7 KiB each and have 36.7.
    #[test]
    fn equals_share_equally() {
        let one = profile(&[40.0, 30.0, 20.0, 10.0], 4096.0);
        mpki(&[&one, &one]).iter().for_each(|mpki| assert!((mpki - 30.0).abs() < 0.2, "{mpki}"));
        mpki(&[&one, &one, &one]).iter().for_each(|mpki| assert!((mpki - 36.7).abs() < 0.3, "{mpki}"));
    }

    #[test]
    fn what_fits_is_held_whole() {
        let (small, other) = (profile(&[20.0, 0.0, 0.0, 0.0], 128.0), profile(&[9.0, 9.0, 9.0, 0.0], 384.0));
        assert_eq!(mpki(&[&small])[0], 20.0);
        let both = mpki(&[&small, &other]);
        assert!((both[0] - 20.0).abs() < 1e-9 && (both[1] - 9.0).abs() < 1e-9, "{both:?}");
    }

    /// The other program is a stream of 40 MPKI, which thus takes 6 cycles per instruction. The
    /// cache has 512 KiB = 524.3 KB in all. The first program's misses are m(s) = 0.08 - s / 12.8
    /// MB, its cycles 2 + 100 m. By last use (2 + 100 m) 12800 ln(0.08 / m) = 6 (524.3 - x) / 0.04,
    /// which holds at x = 298.7 KB, m = 0.0567: 33840 on both sides. By insertion (2 + 100 m) x / m
    /// would have to be equal to the right side, which holds at 276.7 KB and m = 0.0584.
    #[test]
    fn who_uses_again_holds_more_than_by_insertion() {
        let steep: Vec<f64> = (1..=16).map(|way| 80.0 - f64::from(way) * 32.768 / 12.8).collect();
        let (reuse, stream) = (profile(&steep, 4096.0), profile(&[40.0; 16], 4096.0));
        let found = mpki(&[&reuse, &stream]);
        assert!((found[0] - 56.67).abs() < 0.1 && (found[1] - 40.0).abs() < 1e-9, "{found:?}");
    }
}
