//! Mailboxes: archives of articles with a `From ` line before each.
//!
//! | module | content |
//! |---|---|
//! | [`mailbox`] | takes a mailbox apart; quoted `From ` lines |
//! | [`beginning`] | where a message begins |
//! | [`input`] | opens files: plain, compressed, zip |
//! | [`members`] | the members of zip archives |
//! | [`files`] | imports the articles of files |

pub mod beginning;
pub mod files;
pub mod input;
pub mod mailbox;
pub mod members;
