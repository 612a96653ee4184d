//! Expire: which articles go, and when.
//!
//! The pure half is the policy as C News's `explist` file, as tables of
//! `broadsheet.toml`, or brought over from INN's `expire.ctl`; compiled over the
//! active table into one [`Policy`] that decides article by article
//! ([`Policy::decide`]) or gives a group's [`Cutoffs`], by which whole runs of
//! articles are decided without looking at them.
//!
//! [`decide`] finds what goes, by the views of the segments and without the lock; [`run()`] has
//! the store take that over, which holds the lock for milliseconds; before that, [`archiving`] copies what a
//! rule wants kept elsewhere.
//! Safety rule of the room: whatever cannot be understood refuses to run; no
//! damage to a policy file may ever end in "expire everything".

pub mod archive;
pub mod archiving;
pub mod complaints;
pub mod count;
pub mod dates;
pub mod decide;
pub mod error;
pub mod expire_ctl;
pub mod explist;
pub mod failure;
pub mod life;
mod oldest;
pub mod policy;
mod reach;
mod reserve;
pub mod run;
pub mod space;
pub mod tables;
mod trace;

pub use archive::{Archive, Layout};
pub use archiving::{Archived, Archiving};
pub use complaints::Unreadable;
pub use count::{Going, Hierarchies};
pub use dates::{Bounds, Dates};
pub use decide::{Plan, decide};
pub use error::{Error, LineFault};
pub use explist::{Explist, Moderation, Rule};
pub use life::{Life, Share};
pub use policy::{Complaint, Cutoffs, Decision, Policy, Verdict, Warning};
pub use run::{Order, Outcome, run};
pub use space::{Room, Shortage, Shorter};
pub use tables::{Space, Tables};
pub use trace::Removal;
