//! Scripted NNTP sessions, named by RFC section, and a player that runs them against any server.
//!
//! A session ([`case`]) is a readable text: the client's commands, and the replies that the RFC permits.
//! [`play`] runs it over a connection ([`line`]) against a server ([`subject`]) prepared with known groups and
//! articles ([`fixture`]). This crate uses no other crate of the project, because a suite that shared their code would share
//! their errors.

pub mod capabilities;
pub mod case;
pub mod fixture;
pub mod line;
pub mod pattern;
pub mod play;
pub mod report;
pub mod subject;
mod tls;
