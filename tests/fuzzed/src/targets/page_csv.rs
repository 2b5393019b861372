//! Page profiles in the CSV form of numalize. An accepted profile is the same when it is written
//! and read again, except for blanks and names that are not text.

use crate::check::accepted;
use isobar_pages::import::numalize;

/// Checks one input.
pub fn run(bytes: &[u8]) {
    let Some(profile) = accepted(numalize::read(bytes)) else { return };
    let mut text = Vec::new();
    numalize::write(&profile, &mut text).unwrap_or_else(|why| panic!("{why}"));
    let again = numalize::read(text.as_slice()).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(again.usage, profile.usage);
}
