//! A C News installation.
//!
//! | module | content |
//! |---|---|
//! | [`installation`] | where its files are |
//! | [`history`] | lines of its history |
//! | [`tree`] | its tree of articles: a file for each group and number |
//! | [`source`] | imports the articles: those of the history, then the others of the tree |
//! | [`translate`] | its settings as files of a news directory, with a report |

pub mod history;
pub mod installation;
pub mod source;
pub mod translate;
pub mod tree;
