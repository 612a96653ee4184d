//! An INN 2 installation.
//!
//! | module | content |
//! |---|---|
//! | [`conf`] | the syntaxes of its files: `key: value`, groups in braces, lines with fields |
//! | [`installation`] | where its files are |
//! | [`history`] | lines of its history |
//! | [`token`] | storage tokens: where an article is |
//! | [`spools`] | reads the article of a token; `caf` and `cnfs` are the formats of two spools |
//! | [`source`] | imports the articles, in the order of its history |
//! | [`translate`] | its settings as `broadsheet.toml`, with a report |

pub mod caf;
pub mod cnfs;
pub mod conf;
mod hex;
pub mod history;
pub mod installation;
pub mod source;
pub mod spools;
pub mod token;
pub mod translate;
