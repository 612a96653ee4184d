//! The parts of `broadsheet setup`: questions, the news directory that they make, and its trial.

pub mod answers;
pub mod by_root;
pub mod making;
pub mod question;
mod suggested_groups;
pub mod trial;
pub mod unfinished;
