//! The target of the program's name, for libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| isobar_fuzzed::run(env!("CARGO_BIN_NAME"), bytes));
