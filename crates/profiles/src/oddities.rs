//! Remarks on tables that are odd but are used as they are: measurements are not monotone, and
//! tables end.

use isobar_model::profile::{Profile, Property};

/// Rises in slowdown by less than this fraction are not reported.
const FELT: f64 = 1e-3;

/// One line for each kind of oddity.
pub(super) fn all(profiles: &[&Profile], ways: usize) -> Vec<String> {
    [rising(profiles), ending(profiles, ways)].into_iter().flatten().collect()
}

/// Programs that are slower with one more way, at some way count.
fn rising(profiles: &[&Profile]) -> Option<String> {
    let worst = |profile: &&Profile| {
        let pairs = profile.column(Property::Slowdown).windows(2).enumerate();
        let rises = pairs.map(|(index, pair)| (pair[1] / pair[0] - 1.0, index + 2)).filter(|(rise, _)| *rise > FELT);
        Some((rises.max_by(|a, b| a.0.total_cmp(&b.0))?, profile.name().to_owned()))
    };
    let mut found: Vec<_> = profiles.iter().filter_map(worst).collect();
    found.sort_by(|a, b| b.0.0.total_cmp(&a.0.0).then(a.1.cmp(&b.1)));
    let ((rise, at), name) = found.first()?;
    Some(format!(
        "{} of {} programs become slower with one way more at some point, and are used as measured (most: {name}, \
         {:.1} % at {at} ways)",
        found.len(),
        profiles.len(),
        100.0 * rise
    ))
}

/// Programs whose tables have fewer ways than requested.
fn ending(profiles: &[&Profile], ways: usize) -> Option<String> {
    let short: Vec<_> = profiles.iter().filter(|profile| profile.ways() < ways).collect();
    let first = short.first()?;
    let others = if short.len() > 1 { format!(" and {} more", short.len() - 1) } else { String::new() };
    Some(format!(
        "the table of {}{others} ends before {ways} ways (at {}): its last value is used beyond that",
        first.name(),
        first.ways()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::profile::Row;

    fn profile(name: &str, ipc: &[f64]) -> Profile {
        Profile::new(name, ipc.iter().map(|&ipc| Row { ipc, ..Row::default() }).collect()).unwrap()
    }

    #[test]
    fn rises_and_ends_are_reported_and_nothing_else() {
        let (rises, falls) = (profile("a", &[1.0, 2.0, 1.6]), profile("b", &[1.0, 2.0, 2.0]));
        assert_eq!(all(&[&falls], 3), Vec::<String>::new());
        assert_eq!(
            all(&[&falls, &rises], 4),
            [
                "1 of 2 programs become slower with one way more at some point, and are used as measured \
                 (most: a, 25.0 % at 3 ways)",
                "the table of b and 1 more ends before 4 ways (at 3): its last value is used beyond that"
            ]
        );
    }
}
