//! All integration tests of this crate in one program: a module a behaviour.

mod vectors;

mod any_bytes_are_safe;
mod only_unchanged_signatures_verify;
