//! Pulling news: articles from a server where we are only a reader, and our posts to it. (suck, pullnews, slrnpull and leafnode do this.)
//!
//! | file | idea |
//! |---|---|
//! | [`source`] | a server to pull from, as the settings describe it |
//! | [`marks`] | how far each group was read: the file `pull/NAME` |
//! | [`interest`] | when readers asked for each group: the file `pull.interest`; groups that rest |
//! | [`plan`] | which numbers of a group to read next; renumbered groups |
//! | [`connection`] | a blocking connection with TLS, compression and a rate |
//! | [`news`] | the news system that a visit works for |
//! | [`run`] | one visit: what is new, and how it ends |
//! | [`by_number`], [`new_news`] | what is new: by the numbers of groups, by NEWNEWS |
//! | [`fetch`] | the articles that are unknown here, in batches |
//! | `leafnode` | texts that leafnode shows in place of articles |
//! | [`posts`] | posts made here go up |
//!
//! *Architecture Invariant:* a mark passes an article only after its commit, or when the history knows it. After a kill the articles
//! since the last commit are fetched again; none is skipped. Nor does it pass an article that the server refuses, for a week.

pub mod by_number;
pub mod connection;
mod error;
pub mod fetch;
pub mod interest;
mod leafnode;
pub mod marks;
pub mod new_news;
pub mod news;
pub mod plan;
pub mod posts;
pub mod run;
pub mod source;

pub use error::Error;
pub use interest::{Asked, Interest, Watched};
pub use news::{News, Pulled};
pub use run::pull;
pub use source::Source;
