//! All integration tests of this crate in one program: a module a behaviour.

mod a_name_dies_with_its_node;
mod a_scan_is_one_pass;
mod the_cache_agrees_with_a_slow_model;
