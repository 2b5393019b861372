//! What a person sees of a machine.
#![forbid(unsafe_code)]
