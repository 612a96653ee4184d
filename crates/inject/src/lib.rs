//! Injection: what people post becomes an article, or goes to a moderator, or is refused (RFC 5537, 3.5).
//!
//! | file | idea |
//! |---|---|
//! | [`draft`] | a header and a body, read leniently and written cleanly |
//! | [`post`] | the whole way of a post; pure |
//! | `poster` | who posts |
//! | [`check`] | what a post may say |
//! | [`withdrawal`] | locks on what is posted, keys for what is cancelled |
//! | [`groups_of`] | what the groups allow: the classic `actflag` |
//! | [`moderators`] | who moderates a group: `mailpaths` and INN's `moderators` |
//! | [`submission`] | a post as mail to a moderator |
//! | [`mail_queue`] | mail on its way: kept in files, given to a program |
//! | [`mailbox`] | addresses |
//! | [`message_id`] | new ids |
//! | [`refusal`] | why a post is refused |
//!
//! *Architecture Invariant:* only [`mail_queue`] does I/O. The time, the groups and chance are handed in, so that a
//! command and a socket post alike.

pub mod check;
pub mod draft;
pub mod groups_of;
pub mod mail_queue;
pub mod mailbox;
pub mod message_id;
pub mod moderators;
pub mod post;
mod poster;
pub mod refusal;
pub mod submission;
pub mod withdrawal;

pub use draft::Draft;
pub use moderators::Moderators;
pub use post::{InjectRules, Injected, Moment, Reveal, Route, Site, inject};
pub use poster::{EveryGroup, Poster};
pub use refusal::Refusal;
