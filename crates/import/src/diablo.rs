//! The spool of a Diablo 5: `D.xxxxxxxx/B.xxxx`, files of many articles.
//!
//! | module | content |
//! |---|---|
//! | [`spool`] | the directories, and the articles of a file |
//! | [`run`] | imports them |

pub mod run;
pub mod spool;
