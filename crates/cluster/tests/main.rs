//! The tests of the crate.

mod a_log_keeps_its_promises;
