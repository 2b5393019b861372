//! Memory-access traces and page usage; empty until its issue is built.

#![forbid(unsafe_code)]
