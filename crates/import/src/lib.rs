//! Moves another news system in: its articles with their numbers, what it has seen, its groups and its settings.
//!
//! | module | content |
//! |---|---|
//! | [`inn`] | an INN 2 installation: its files and the formats of its spools |
//! | [`report`] | what comes over, what does not, and why, line by line |
//! | [`run`] | files the articles; resumes after a kill |

pub mod inn;
pub mod report;
pub mod run;
