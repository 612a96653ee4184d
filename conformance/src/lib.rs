//! Scripted sessions of NNTP, named by RFC section, and what plays them against any server.
//!
//! A session ([`case`]) is a text that a person can read: what the client sends, what the server may answer by the RFC.
//! [`play`] plays it over a connection ([`line`]), against a server that was prepared ([`subject`]) with known groups and
//! articles ([`fixture`]). Nothing here uses the other crates of the project: a suite that shared their code would share
//! their faults.

pub mod capabilities;
pub mod case;
pub mod fixture;
pub mod line;
pub mod pattern;
pub mod play;
pub mod report;
pub mod subject;
mod tls;
