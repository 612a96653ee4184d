//! Networks in the settings: `192.0.2.0/24`, `2001:db8::/32`, `192.0.2.7`, `local`.

use std::fmt;
use std::net::IpAddr;

/// Prefix length of IPv4-mapped IPv6 addresses, bits (RFC 4291, 2.5.5.2).
const MAPPED_BITS: u8 = 96;

/// A set of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// This machine: loopback addresses, and clients over a pipe.
    Local,
    /// The addresses with a prefix.
    Of {
        /// The address, with zeros after the prefix.
        address: IpAddr,
        /// Length of the prefix, bits.
        bits: u8,
    },
}

impl Network {
    /// Parses an address, an address with a prefix length, or `local`. An IPv4-mapped network (`::ffff:192.0.2.0/120`, RFC 4291, 2.5.5.2)
    /// becomes the IPv4 network.
    ///
    /// # Errors
    /// The problem, as the rest of a sentence that begins with the text.
    pub fn parse(text: &str) -> Result<Network, String> {
        if text == "local" {
            return Ok(Network::Local);
        }
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| {
            "is not a network: write \"192.0.2.0/24\", \"2001:db8::/32\", one address, or \"local\""
                .to_owned()
        })?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            None => most,
            Some(bits) => bits
                .parse()
                .ok()
                .filter(|bits| *bits <= most)
                .ok_or_else(|| format!("needs a number of bits from 0 to {most} after the `/'"))?,
        };
        let network = first_bits(address, bits);
        if network != address {
            return Err(format!(
                "has bits after the first {bits}; the network is {network}/{bits}"
            ));
        }
        Ok(
            match (address.to_canonical(), bits.checked_sub(MAPPED_BITS)) {
                (address @ IpAddr::V4(_), Some(bits)) => Network::Of { address, bits },
                _ => Network::Of { address, bits },
            },
        )
    }

    /// Whether an address is in the network. An IPv4-mapped address (`::ffff:192.0.2.1`) counts as IPv4. `None` is a client over a pipe.
    pub fn contains(&self, client: Option<IpAddr>) -> bool {
        let client = client.map(|address| address.to_canonical());
        match self {
            Network::Local => client.is_none_or(|address| address.is_loopback()),
            Network::Of { address, bits } => client.is_some_and(|client| {
                client.is_ipv4() == address.is_ipv4() && first_bits(client, *bits) == *address
            }),
        }
    }

    /// Whether all addresses of another network are in this one.
    pub fn includes(&self, other: &Network) -> bool {
        match (self, other) {
            (Network::Local, Network::Local) => true,
            // A client over a pipe is in no other network.
            (Network::Of { .. }, Network::Local) => false,
            (Network::Local, Network::Of { address, bits }) => {
                address.is_loopback() && *bits >= if address.is_ipv4() { 8 } else { 128 }
            }
            (
                Network::Of { bits, .. },
                Network::Of {
                    address,
                    bits: longer,
                },
            ) => bits <= longer && self.contains(Some(*address)),
        }
    }
}

/// Writes the network as the settings do.
impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Network::Local => f.write_str("local"),
            Network::Of { address, bits } if *bits == if address.is_ipv4() { 32 } else { 128 } => {
                address.fmt(f)
            }
            Network::Of { address, bits } => write!(f, "{address}/{bits}"),
        }
    }
}

/// The unit by which addresses are counted: an IPv4 address, or a /64 network of IPv6, since one machine has all of it.
pub fn counted(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        v4 @ IpAddr::V4(_) => v4,
        v6 @ IpAddr::V6(_) => first_bits(v6, 64),
    }
}

/// The address with zeros after its first bits.
fn first_bits(address: IpAddr, bits: u8) -> IpAddr {
    let bits = u32::from(bits);
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX
                .checked_shl(32u32.saturating_sub(bits))
                .unwrap_or(0);
            IpAddr::V4((u32::from(address) & mask).into())
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX
                .checked_shl(128u32.saturating_sub(bits))
                .unwrap_or(0);
            IpAddr::V6((u128::from(address) & mask).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn networks_include_smaller_ones() {
        for (network, other, is_in) in [
            ("local", "local", true),
            ("local", "127.0.0.1", true),
            ("local", "127.0.0.0/8", true),
            ("local", "126.0.0.0/7", false),
            ("local", "::1", true),
            ("local", "192.0.2.1", false),
            ("127.0.0.0/8", "local", false),
            ("192.0.2.0/24", "192.0.2.128/25", true),
            ("192.0.2.0/24", "192.0.2.0/24", true),
            ("192.0.2.128/25", "192.0.2.0/24", false),
            ("192.0.2.0/24", "192.0.3.1", false),
            ("0.0.0.0/0", "2001:db8::1", false),
        ] {
            let [one, two] = [network, other].map(|text| Network::parse(text).unwrap());
            assert_eq!(one.includes(&two), is_in, "{network} {other}");
        }
    }

    #[test]
    fn networks_contain_their_addresses() {
        for (network, address, is_in) in [
            ("192.0.2.0/24", "192.0.2.255", true),
            ("192.0.2.0/24", "192.0.3.0", false),
            ("192.0.2.0/24", "::ffff:192.0.2.9", true),
            ("192.0.2.7", "192.0.2.7", true),
            ("192.0.2.7", "192.0.2.6", false),
            ("0.0.0.0/0", "203.0.113.5", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("::/0", "2001:db8::1", true),
            ("::/0", "203.0.113.5", false),
            ("2001:db8::/32", "2001:db8:ffff::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
            ("local", "127.0.0.3", true),
            ("local", "::1", true),
            ("local", "::ffff:127.0.0.1", true),
            ("local", "192.0.2.1", false),
        ] {
            let parsed = Network::parse(network).unwrap();
            assert_eq!(parsed.to_string(), network);
            let address = Some(address.parse().unwrap());
            assert_eq!(parsed.contains(address), is_in, "{network} {address:?}");
        }
        assert!(Network::Local.contains(None));
        assert!(!Network::parse("0.0.0.0/0").unwrap().contains(None));
    }

    #[test]
    fn ipv4_written_as_ipv6_is_the_ipv4_network() {
        for (text, shown, address, is_in) in [
            ("::ffff:192.0.2.1", "192.0.2.1", "192.0.2.1", true),
            ("::ffff:192.0.2.1", "192.0.2.1", "::ffff:192.0.2.1", true),
            ("::ffff:192.0.2.1", "192.0.2.1", "192.0.2.2", false),
            ("::ffff:192.0.2.0/120", "192.0.2.0/24", "192.0.2.9", true),
            ("::ffff:0:0/96", "0.0.0.0/0", "203.0.113.5", true),
            ("::ffff:0:0/96", "0.0.0.0/0", "2001:db8::1", false),
        ] {
            let network = Network::parse(text).unwrap();
            assert_eq!(network.to_string(), shown);
            let address = Some(address.parse().unwrap());
            assert_eq!(network.contains(address), is_in, "{text} {address:?}");
        }
    }

    #[test]
    fn invalid_networks_are_reported() {
        for (text, error) in [
            ("news.example.org", "is not a network"),
            ("", "is not a network"),
            ("192.0.2.0/33", "needs a number of bits from 0 to 32"),
            ("192.0.2.0/", "needs a number of bits"),
            ("2001:db8::/129", "from 0 to 128"),
            ("192.0.2.1/24", "the network is 192.0.2.0/24"),
        ] {
            assert!(Network::parse(text).unwrap_err().contains(error), "{text}");
        }
    }

    #[test]
    fn a_network_of_64_bits_counts_as_one_address() {
        for (address, as_this) in [
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
            ("192.0.2.7", "192.0.2.7"),
            ("::ffff:192.0.2.7", "192.0.2.7"),
        ] {
            let as_this: IpAddr = as_this.parse().unwrap();
            assert_eq!(counted(address.parse().unwrap()), as_this);
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,20}|[0-9a-f.:/]{0,24}", address: u128) {
            if let Ok(network) = Network::parse(&text) {
                network.contains(Some(IpAddr::V6(address.into())));
            }
        }
    }
}
