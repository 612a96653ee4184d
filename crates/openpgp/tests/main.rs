//! All integration tests of this crate in one program: a module a behaviour.

mod vectors;

mod no_bytes_do_harm;
mod signatures_hold_only_as_made;
