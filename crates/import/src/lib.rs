//! Moves another news system in: its articles with their numbers, what it has seen, its groups and its settings.
//!
//! | module | content |
//! |---|---|
//! | [`inn`] | an INN 2 installation: its files and the formats of its spools |
//! | [`cnews`] | a C News installation: its files, its history and its tree of articles |
//! | [`mbox`] | mailboxes: archives of articles |
//! | [`diablo`] | the spool of a Diablo |
//! | [`archived`], [`mend`] | files articles that come without a history; their missing headers |
//! | [`conf_file`], [`moved`], [`report`] | files of settings; what they become; what comes over, what does not, and why, line by line |
//! | [`importer`] | files articles, with given numbers or with new ones |
//! | [`kept`] | the files of what could not be filed |
//! | [`gone`] | lists the articles that are here and gone there |
//! | [`error`] | the error that ends an import |
//! | `regular` | opens regular files only |
//! | [`run`] | files the articles of a system that has a history; resumes after a kill (`state`, `hashes`) |

pub mod archived;
pub mod cnews;
pub mod conf_file;
pub mod diablo;
pub mod error;
pub mod gone;
mod hashes;
pub mod importer;
pub mod inn;
pub mod kept;
pub mod mbox;
pub mod mend;
pub mod moved;
mod regular;
pub mod report;
pub mod run;
mod state;
