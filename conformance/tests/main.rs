//! All integration tests of this crate in one program: a module a behaviour.

mod coverage_names_every_case;
mod it_conforms;
