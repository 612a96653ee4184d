//! Addresses of readers, shortened before they are counted.
//!
//! A report shows where readers come from, but it must not follow a person: it counts networks, IPv4 by their first 24 bits and IPv6 by
//! their first 48, which a provider gives to many customers or to one organization. The rest of the address never reaches a file.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The network of a reader: `192.0.2.0/24`, `2001:db8:1::/48`, or `local` for this machine.
pub fn of(address: Option<IpAddr>) -> String {
    match address {
        None => "local".to_owned(),
        Some(address) if address.is_loopback() => "local".to_owned(),
        Some(IpAddr::V4(address)) => short(address),
        Some(IpAddr::V6(address)) => match address.to_ipv4_mapped() {
            Some(address) => of(Some(IpAddr::V4(address))),
            None => {
                let [a, b, c, ..] = address.segments();
                format!("{}/48", Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0))
            }
        },
    }
}

fn short(address: Ipv4Addr) -> String {
    let [a, b, c, _] = address.octets();
    format!("{a}.{b}.{c}.0/24")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_single_address_is_left() {
        for (address, network) in [
            ("192.0.2.77", "192.0.2.0/24"),
            ("::ffff:192.0.2.77", "192.0.2.0/24"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1::/48"),
            ("127.0.0.1", "local"),
            ("::1", "local"),
        ] {
            assert_eq!(of(Some(address.parse().unwrap())), network);
        }
        assert_eq!(of(None), "local");
    }
}
