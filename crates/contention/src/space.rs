//! LLC space: the parts of each cache that streams fill, and how streams share each part.
//!
//! **Parts.** A stream may fill the ways of its mask. Disjoint masks make partitions, and each
//! stream has one part. If masks overlap, the ways that are open to exactly the same masks make one
//! part, and a stream spreads its insertions evenly over its ways: the share of a part is its
//! number of ways divided by that of the mask. (Hardware picks a victim among the ways of the mask;
//! the assumption is that the victim is equally often in each of them.) A stream in several parts
//! holds `T b`, where `T` is the mean over its parts.
//!
//! **Sharing a part.** Under (pseudo-)LRU a line stays for about the same time `T` after it is
//! inserted, whichever stream owns it: occupancy is insertion rate times `T`, and `T` is such that
//! the part is just full. If everything in use fits, lines would stay for ever. In reality there is
//! always other traffic, so a background stream that would fill the part in `LONGEST` seconds is
//! part of the model.
//!
//! **Fixed point at given waits.** The amount that fills part `a`, `S_a(T)`, increases in `T_a` and
//! does not increase in any other `T_c`; the sum over the parts of an LLC increases in every `T`.
//! So `S` is an M-function (Rheinboldt, J. Math. Anal. Appl. 32, 1970): `S(T) = sizes` has exactly
//! one solution, and solving part by part from below converges to it monotonically. For disjoint
//! masks one pass is exact.

use crate::budget::{Meter, NoAnswer};
use crate::network::{LONGEST, Network};
use crate::root::increasing_root;

/// Relative accuracy of a residence time.
const STAY: f64 = 1e-13;
/// Every part is filled to within this fraction of its size.
const FULL: f64 = 1e-11;

/// The parts of an LLC: sets of ways that are open to the same masks, ascending by lowest way.
pub(crate) fn parts(masks: &[u64]) -> Vec<u64> {
    let mut parts = vec![masks.iter().fold(0, |all, mask| all | mask)];
    for mask in masks {
        parts = parts.iter().flat_map(|part| [part & mask, part & !mask]).filter(|part| *part != 0).collect();
    }
    parts.retain(|part| *part != 0);
    parts.sort_unstable_by_key(|part| part.trailing_zeros());
    parts
}

/// The residence times that just fill every part, if a miss stalls each stream for its time in
/// `stalls`.
pub(crate) fn stays(network: &Network, stalls: &[f64], meter: &mut Meter) -> Result<Vec<f64>, NoAnswer> {
    let mut stays = Vec::with_capacity(network.spaces.len());
    for part in 0..network.spaces.len() {
        stays.push(shortest(network, stalls, part, meter)?);
    }
    loop {
        for part in 0..stays.len() {
            let mut over = |stay: f64| {
                let here = |other: usize| if other == part { stay } else { stays[other] };
                Ok(filled(network, stalls, part, here, meter)? / network.spaces[part] - 1.0)
            };
            let (low, mut high) = (stays[part], 2.0 * stays[part]);
            while high < LONGEST && over(high)? < 0.0 {
                high *= 4.0;
            }
            stays[part] = increasing_root(low, high.min(LONGEST), STAY, over)?;
        }
        if network.disjoint || all_full(network, stalls, &stays, meter)? {
            return Ok(stays);
        }
    }
}

fn all_full(network: &Network, stalls: &[f64], stays: &[f64], meter: &mut Meter) -> Result<bool, NoAnswer> {
    for part in 0..stays.len() {
        let full = filled(network, stalls, part, |other| stays[other], meter)? / network.spaces[part] - 1.0;
        if full.abs() > FULL {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The residence time if every stream inserted as fast as into an empty cache. It is at most the
/// true one.
fn shortest(network: &Network, stalls: &[f64], part: usize, meter: &mut Meter) -> Result<f64, NoAnswer> {
    meter.spend()?;
    let empty = |(stream, share): &(usize, f64)| share * network.streams[*stream].flow(stalls[*stream], 0.0, 0.0).bytes;
    let size = network.spaces[part];
    Ok(size / (size / LONGEST + network.members[part].iter().map(empty).sum::<f64>()))
}

/// Number of bytes held in a part.
fn filled(
    network: &Network,
    stalls: &[f64],
    part: usize,
    stay: impl Fn(usize) -> f64,
    meter: &mut Meter,
) -> Result<f64, NoAnswer> {
    meter.spend()?;
    let held = |(index, share): &(usize, f64)| {
        let stream = &network.streams[*index];
        let mean: f64 = stream.shares.iter().map(|(other, share)| share * stay(*other)).sum();
        stream.flow(stalls[*index], mean, 0.5 * stream.limit).space * share * stay(part) / mean
    };
    Ok(network.spaces[part] * stay(part) / LONGEST + network.members[part].iter().map(held).sum::<f64>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::curve::MissCurve;
    use crate::queue::LINE;
    use crate::stream::{Misses, Stream};

    /// A stream that misses `rate` bytes per second with an empty cache and never stalls;
    /// `half_mib` of space halve its misses.
    fn stream(rate: f64, half_mib: f64, limit: f64, shares: &[(usize, f64)]) -> Stream {
        let curve = MissCurve::parametric(0.0, 1000.0, half_mib);
        let misses = Misses::Curve { curve, factor: 1.0, reach: 1.0, private: 0.0, most: 1.0 };
        let shares = shares.to_vec();
        Stream { bytes: LINE, compute: LINE / rate, misses, stall: 0.0, visits: vec![], limit, shares }
    }

    fn held(spaces: &[f64], streams: Vec<Stream>) -> Vec<f64> {
        let network = Network::of(vec![], spaces.to_vec(), streams);
        let stalls = vec![0.0; network.streams.len()];
        let stays = stays(&network, &stalls, &mut Meter::new(Budget::default())).unwrap();
        let mean = |stream: &Stream| stream.shares.iter().map(|(part, share)| share * stays[*part]).sum();
        network.streams.iter().map(|stream| stream.flow(0.0, mean(stream), 1.0).space).collect()
    }

    const MIB: f64 = 1_048_576.0;

    #[test]
    fn equal_programs_share_equally_and_streams_share_by_rate() {
        let both = |a, b| held(&[MIB], vec![stream(a, 1e8, 1e12, &[(0, 1.0)]), stream(b, 1e8, 1e12, &[(0, 1.0)])]);
        assert!((both(5e9, 5e9)[0] / MIB - 0.5).abs() < 1e-6);
        assert!((both(9e9, 1e9)[0] / MIB - 0.9).abs() < 1e-6);
    }

    #[test]
    fn small_footprints_leave_room_and_what_fits_is_held_whole() {
        let small = |limit| stream(9e9, 1.0, limit, &[(0, 1.0)]);
        let got = held(&[MIB], vec![small(0.2 * MIB), stream(1e9, 1.0, 1e12, &[(0, 1.0)])]);
        assert!((got[0] / MIB - 0.2).abs() < 1e-6 && (got[1] / MIB - 0.8).abs() < 1e-4, "{got:?}");
        assert_eq!(held(&[MIB], vec![small(0.2 * MIB), small(0.3 * MIB)]), [0.2 * MIB, 0.3 * MIB]);
    }

    #[test]
    fn ways_open_to_the_same_masks_are_one_part() {
        assert_eq!(parts(&[0b1111_0000, 0b0000_1111]), [0b0000_1111, 0b1111_0000]);
        assert_eq!(parts(&[0b0011_1100, 0b1111_1111]), [0b1100_0011, 0b0011_1100]);
        assert_eq!(parts(&[0b0111, 0b1110, 0b0111]), [0b0001, 0b0110, 0b1000]);
    }

    /// By hand: A fills ways 0 and 1, B ways 1 and 2, all at the same constant rate. Way 1 takes
    /// half of each. Per way, A and B put r/2 into their own and r into the shared one, so lines
    /// stay T, T/2, T: A holds (r/2)T + (r/2)(T/2) = one way and a half.
    #[test]
    fn overlapping_masks_share_what_overlaps() {
        let one = |shares: &[(usize, f64)]| stream(1e9, 1e8, 1e12, shares);
        let got = held(&[MIB, MIB, MIB], vec![one(&[(0, 0.5), (1, 0.5)]), one(&[(1, 0.5), (2, 0.5)])]);
        assert!(got.iter().all(|bytes| (bytes / MIB - 1.5).abs() < 1e-4), "{got:?}");
    }
}
