//! All integration tests of this crate in one program: a module a behaviour.

mod shared;

mod active;
mod matrix;
mod newsgroups;
mod pattern;
mod shared_lists;
mod sys;
mod wildmat;
