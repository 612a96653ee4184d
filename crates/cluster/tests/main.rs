//! The tests of the crate.

mod servers;

mod a_log_keeps_its_promises;
