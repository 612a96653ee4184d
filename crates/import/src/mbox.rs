//! Mailboxes: archives of articles with a `From ` line before each.
//!
//! | module | content |
//! |---|---|
//! | [`mailbox`] | takes a mailbox apart; quoted `From ` lines |
//! | [`input`] | opens files: plain, compressed, zip |
//! | [`files`] | imports the articles of files |

pub mod files;
pub mod input;
pub mod mailbox;
