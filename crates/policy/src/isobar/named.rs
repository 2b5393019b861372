//! Interprets the settings in which a person names programs and groups, and says how slow one may
//! be.

use isobar_groups::Selector;
use isobar_model::Cgroup;

/// Parses `redis=1.2`: a program or group, and how many times as long as alone it may take.
///
/// # Errors
/// One line that says what was expected.
pub fn parse_target(text: &str) -> Result<(&str, f64), String> {
    let (who, most) = text
        .rsplit_once('=')
        .filter(|(who, _)| !who.is_empty())
        .ok_or_else(|| format!("`{text}` is not a target: expected NAME=SLOWDOWN, such as redis=1.2"))?;
    Selector::check(who)?;
    let most = most.parse().ok().filter(|most: &f64| (1.0..=1000.0).contains(most)).ok_or_else(|| {
        format!("`{text}`: `{most}` is not a slowdown: expected a number from 1 (as fast as alone) to 1000")
    })?;
    Ok((who, most))
}

/// Whether a program or its group matches `wanted`, in which a `*` at the end stands for any
/// ending.
#[must_use]
pub fn is_one_of(wanted: &str, name: &str, cgroup: Option<&Cgroup>) -> bool {
    let Some(selector) = Selector::parse(wanted) else { return fits(wanted, name) };
    let globs = |text: &str| fits(selector.name(), text);
    cgroup.is_some_and(|cgroup| selector.fits_path(&cgroup.path, cgroup.name.as_deref(), globs))
}

/// Whether a name is the one that is wanted, or begins like it.
fn fits(wanted: &str, name: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(begin) => name.starts_with(begin),
        None => name == wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_target_is_refused_with_what_was_expected() {
        assert_eq!(parse_target("unit:a=b.service=1.1"), Ok(("unit:a=b.service", 1.1)));
        for (wrong, says) in [
            ("redis", "expected NAME=SLOWDOWN"),
            ("=1.2", "expected NAME=SLOWDOWN"),
            ("redis=0.9", "`0.9` is not a slowdown"),
            ("redis=fast", "`fast` is not a slowdown"),
            ("redis=NaN", "`NaN` is not a slowdown"),
            ("unit:=1.2", "names no unit"),
        ] {
            let message = parse_target(wrong).unwrap_err();
            assert!(message.contains(says), "{wrong}: {message}");
        }
    }
}
