//! Expire: which articles go, and when.
//!
//! So far the pure half: the policy as C News's `explist` file, as tables of
//! `broadsheet.toml`, or brought over from INN's `expire.ctl`; compiled over the
//! active table into one [`Policy`] that decides article by article
//! ([`Policy::decide`]) or gives a group's [`Cutoffs`], by which whole runs of
//! articles are decided without looking at them.
//!
//! The only I/O is reading the policy file itself ([`Explist::read`]).
//! Safety rule of the room: whatever cannot be understood refuses to run; no
//! damage to a policy file may ever end in "expire everything".

pub mod archive;
pub mod dates;
pub mod error;
pub mod expire_ctl;
pub mod explist;
pub mod life;
pub mod policy;
mod reach;
pub mod tables;

pub use archive::{Archive, Layout};
pub use dates::{Bounds, Dates};
pub use error::{Error, LineFault};
pub use explist::{Explist, Moderation, Rule};
pub use life::Life;
pub use policy::{Complaint, Cutoffs, Decision, Policy, Verdict, Warning};
pub use tables::{Space, Tables};
