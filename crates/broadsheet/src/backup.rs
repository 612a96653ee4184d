//! Backups of a news directory: a list of files for each backup, and their contents, each stored once under its SHA-256 checksum.
//!
//! | file | idea |
//! |---|---|
//! | [`manifest`] | the list of the files of one backup, as text with a checksum |
//! | [`contents`] | the contents, by checksum |
//! | [`take`] | makes a backup while the news directory is in use |
//! | [`restore`] | makes a news directory of a backup |
//!
//! docs/formats/backup.md has the format.

pub mod contents;
pub mod manifest;
pub mod restore;
pub mod take;
