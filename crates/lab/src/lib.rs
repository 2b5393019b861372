//! Experiments: policies compared on equal terms.

#![forbid(unsafe_code)]
