//! The tests of the crate.

mod servers;
mod the_lease_has_one_holder;

mod a_log_keeps_its_promises;
