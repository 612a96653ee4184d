//! Among whom the memory is shared out.

use std::net::IpAddr;

/// The owner of a share: an access entry, and an address (of IPv6, its /64 network).
pub type Owner = (String, Option<IpAddr>);
