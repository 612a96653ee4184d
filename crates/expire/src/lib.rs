//! Expire: decides which articles are removed, and when.
//!
//! The pure half is the policy: C News's `explist` file, tables of
//! `broadsheet.toml`, or a converted `expire.ctl` of INN; compiled over the
//! active table into one [`Policy`] that decides article by article
//! ([`Policy::decide`]) or gives a group's [`Cutoffs`], by which runs of
//! articles are decided without reading them.
//!
//! [`decide`] finds the articles to remove, with the derived files of the segments and without the lock; [`run()`] has
//! the store apply the decision, which takes the lock for milliseconds; before that, [`archiving`] copies the articles
//! whose rule names an archive.
//! Safety rule of this crate: it refuses to run on anything that it does not understand;
//! a damaged policy file must never lead to "expire everything".

pub mod archive;
pub mod archiving;
pub mod count;
pub mod dates;
pub mod decide;
pub mod error;
pub mod expire_ctl;
pub mod explist;
pub mod life;
mod oldest;
pub mod policy;
mod restored;
mod rule_index;
pub mod run;
pub mod run_error;
pub mod space;
pub mod tables;
mod trace;
pub mod unreadable_expires;

pub use archive::{Archive, Layout};
pub use archiving::{Archived, Archiving};
pub use count::{Hierarchies, RemovalCount};
pub use dates::{DateBounds, Dates};
pub use decide::{Plan, decide};
pub use error::{Error, PolicyLineError};
pub use explist::{Explist, Moderation, Rule};
pub use life::{Lifetime, Share};
pub use policy::{ArticleWarning, Cutoffs, Decision, Policy, Verdict, Warning};
pub use run::{RunOptions, RunReport, run, run_with};
pub use space::{DiskSpace, Shortage, ShortenedRule};
pub use tables::{SpaceLimits, Tables};
pub use trace::Removal;
pub use unreadable_expires::UnreadableExpires;
