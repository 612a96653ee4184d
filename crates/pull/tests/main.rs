//! All integration tests of this crate in one program: a module for each behaviour.
