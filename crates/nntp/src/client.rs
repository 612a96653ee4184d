//! The client half of the protocol, without I/O: what a site says that offers articles to a peer.

mod offers;
mod opening;
mod reading;
mod reply;

pub use crate::command::is_id;
pub use offers::{Event, Offers, Outcome, Sends};
pub use opening::{CAPABILITY_LINES_MAX, Login, Opening, Ready, Step};
pub use reading::{GroupMarks, Listed, listed};
pub use reply::{PeerError, REPLY_BYTES_MAX, Reply};
