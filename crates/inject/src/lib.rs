//! Injection: makes an article of a post, or a mail to a moderator, or refuses it (RFC 5537, 3.5).
//!
//! | file | content |
//! |---|---|
//! | [`draft`] | a header and a body, parsed leniently and written in canonical form |
//! | [`post`] | all steps of injection; pure |
//! | `poster` | the poster and his rights |
//! | [`check`] | the checks of a post's content |
//! | [`cancel_locks`] | Cancel-Locks of posts, Cancel-Keys of cancels |
//! | [`posting_groups`] | the checks of a post's groups: the classic `actflag` |
//! | [`moderators`] | the moderators of groups: `mailpaths` and INN's `moderators` |
//! | [`submission`] | a post as mail to a moderator |
//! | [`mail_queue`] | waiting mail: stored in files until it is sent |
//! | [`mailer`] | the way of mail out of the queue: a program, or a mail server |
//! | [`smtp`] | one mail to one recipient, to a mail server |
//! | [`mailbox`] | addresses |
//! | [`message_id`] | new ids |
//! | [`posts_log`] | who posted: `posts.log`, and tokens |
//! | [`refusal`] | the reasons for refusing a post |
//!
//! *Architecture Invariant:* only [`mail_queue`], [`mailer`], [`smtp`] and [`posts_log`] do I/O. The caller passes the time, the groups and random numbers, so that a
//! command and a socket inject in the same way.

pub mod cancel_locks;
pub mod check;
pub mod draft;
pub mod mail_queue;
pub mod mailbox;
pub mod mailer;
pub mod message_id;
pub mod moderators;
pub mod post;
mod poster;
pub mod posting_groups;
pub mod posts_log;
pub mod refusal;
pub mod smtp;
pub mod submission;

pub use draft::Draft;
pub use mailer::{MailServer, Mailer};
pub use moderators::Moderators;
pub use post::{InjectRules, Injected, InjectionSite, InjectionTime, Reveal, Route, inject};
pub use poster::{EveryGroup, Poster};
pub use posts_log::{LoggedPoster, PostEntry, PostLine};
pub use refusal::Refusal;
