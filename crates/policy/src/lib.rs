//! The contention-management policies.

#![forbid(unsafe_code)]
