use super::stock::{Operation, Stock};
use super::{LONGEST, Mutator, ON_BYTES, ON_TEXT, ON_VALUES, language};
use crate::heard::Heard;
use crate::random::stream;
use std::collections::BTreeSet;

fn seeds() -> Vec<Vec<u8>> {
    vec![b"key = 12\nother = [1, 2.5]\n".to_vec(), b"{\"name\": -3, \"word\": null}".to_vec()]
}

/// The first inputs for a seed.
fn made(seed: u64, text: bool, count: usize) -> Vec<Vec<u8>> {
    let mut mutator = Mutator::new(seed, "made", text, &seeds());
    (0..count).map(|_| mutator.next_input()).collect()
}

#[test]
fn the_same_seed_makes_the_same_inputs() {
    assert_eq!(made(1, false, 200), made(1, false, 200));
    assert_ne!(made(1, false, 200), made(2, false, 200));
}

#[test]
fn inputs_differ_and_stay_short() {
    let made = made(1, false, 2000);
    assert!(made.iter().all(|input| input.len() <= LONGEST));
    assert!(made.iter().any(|input| input.len() > LONGEST / 4), "none is long");
    let different = made.iter().collect::<BTreeSet<_>>().len();
    assert!(different > 1700, "only {different} are different");
}

#[test]
fn inputs_of_a_text_target_are_text() {
    assert!(made(1, true, 1000).iter().all(|input| str::from_utf8(input).is_ok()));
}

#[test]
fn every_operation_takes_any_input_and_changes_one_that_has_all() {
    let stock = Stock::of(&seeds());
    let whole = b"a = 1, b = [2, 3]\nc: {\"d\" = 4.5}\nnext = 18446744073709551616\n".to_vec();
    for (at, operation) in ON_BYTES.iter().chain(ON_TEXT).chain(ON_VALUES).enumerate() {
        let changed = |input: &Vec<u8>| changes(*operation, input, &stock);
        assert!(changed(&whole) > 20, "operation {at} changes nothing");
        for input in [vec![], b"\n".to_vec(), b"7".to_vec(), vec![0xff; 9], vec![b'\n'; LONGEST]] {
            changed(&input);
        }
    }
}

/// How often of 50 times an operation changes an input.
fn changes(operation: Operation, input: &Vec<u8>, stock: &Stock) -> usize {
    let mut random = stream(1, "changes");
    let changed = (0..50).filter(|_| {
        let mut changed = input.clone();
        operation(&mut changed, &mut random, stock);
        changed != *input
    });
    changed.count()
}

/// What a target says that refuses, or accepts.
fn heard(message: &str, accepted: bool) -> Heard {
    Heard { accepted, messages: vec![message.to_owned()] }
}

#[test]
fn an_input_that_says_something_new_is_kept_and_its_names_are_learnt() {
    let mut mutator = Mutator::new(1, "made", true, &seeds());
    let before = mutator.stock.inputs.len();
    for word in ["one", "two", "three"] {
        let message = format!("{word} is no key in line 7, expected `first_key` or second_key");
        mutator.learn(word.as_bytes(), &heard(&message, false));
    }
    assert_eq!(mutator.stock.inputs[before..], [b"one"]);
    assert!(["first_key", "second_key"].iter().all(|word| mutator.stock.words.contains(&word.as_bytes().to_vec())));
    assert!(!mutator.stock.words.contains(&b"two".to_vec()));
    mutator.learn(b"four", &heard("something else", false));
    assert_eq!(mutator.stock.inputs[before..], [&b"one"[..], b"four"]);
}

#[test]
fn an_input_that_is_accepted_is_changed_further() {
    let mut mutator = Mutator::new(1, "made", true, &[vec![b'z'; 40]]);
    let long = b"abc = 1234567\n".repeat(4);
    mutator.learn(&long, &heard("a type", true));
    (0..1000).for_each(|_| mutator.learn(&long, &heard("a type", true)));
    let made = (0..100).filter(|_| mutator.next_input().starts_with(b"abc")).count();
    assert!(made > 20, "{made}");
}

#[test]
fn the_dictionary_has_the_words_of_the_seeds() {
    let stock = Stock::of(&seeds());
    for word in ["key", "other", "word", "null", "other = [1, 2.5]\n", "\n---\n"] {
        assert!(stock.words.contains(&word.as_bytes().to_vec()), "{word}");
    }
    assert_eq!(language::shape("line 12: `a` is \"b\" not c", &language::of(b"c")), "line is not");
}
