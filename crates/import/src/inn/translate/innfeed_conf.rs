//! innfeed.conf: the peers that innfeed feeds, and their keys.

use std::net::IpAddr;

use super::place;
use crate::inn::conf::{ConfFile, Group, Pair, is_true};
use crate::report::{Fate, Report};

/// Keys that are translated; `ip-name` is one of a peer only.
const KNOWN: [&str; 7] = [
    "ip-name",
    "port-number",
    "max-connections",
    "bindaddress",
    "bindaddress6",
    "username",
    "password",
];

/// Keys about the work and the files of innfeed itself; the report has no line for them.
const OWN: [&str; 46] = [
    "news-spool",
    "input-file",
    "pid-file",
    "debug-level",
    "debug-shrinking",
    "initial-sleep",
    "fast-exit",
    "use-mmap",
    "log-file",
    "log-time-format",
    "backlog-directory",
    "backlog-highwater",
    "backlog-ckpt-period",
    "backlog-newfile-period",
    "backlog-rotate-period",
    "backlog-factor",
    "backlog-limit-highwater",
    "backlog-feed-first",
    "dns-retry",
    "dns-expire",
    "gen-html",
    "status-file",
    "connection-stats",
    "host-queue-highwater",
    "stats-period",
    "stats-reset",
    "initial-reconnect-time",
    "max-reconnect-time",
    "stdio-fdmax",
    "article-timeout",
    "response-timeout",
    "initial-connections",
    "close-period",
    "dynamic-method",
    "dynamic-backlog-low",
    "dynamic-backlog-high",
    "dynamic-backlog-filter",
    "max-queue-size",
    "no-check-high",
    "no-check-low",
    "no-check-filter",
    "min-queue-connection",
    "streaming",
    "force-ipv4",
    "drop-deferred",
    "no-backlog",
];

/// A peer of innfeed.conf: the groups around it, from the file, and itself.
pub struct Peer<'a> {
    around: Vec<&'a Group>,
    own: &'a Group,
}

impl<'a> Peer<'a> {
    /// The peer with a name, in any group.
    pub fn find(group: &'a Group, name: &str) -> Option<Peer<'a>> {
        let mut found = group
            .groups
            .iter()
            .find_map(|inner| match inner.kind.as_str() {
                "peer" if inner.name == name => Some(Peer {
                    around: Vec::new(),
                    own: inner,
                }),
                "group" => Peer::find(inner, name),
                _ => None,
            })?;
        found.around.insert(0, group);
        Some(found)
    }

    /// A value of its own.
    pub fn own_value(&self, key: &str) -> Option<&'a str> {
        self.own.value(key)
    }

    /// A value that a peer has from the nearest group around it, if it has none of its own.
    pub fn value(&self, key: &str) -> Option<&'a str> {
        let around = || self.around.iter().rev();
        self.own_value(key)
            .or_else(|| around().find_map(|group| group.value(key)))
    }
}

/// The local address of the connections to a peer, for `bind`.
///
/// # Errors
/// The addresses that `bind` cannot express.
pub fn local_address<'a>(peer: &Peer<'a>) -> Result<Option<&'a str>, String> {
    let address = |key: &str| {
        let address = peer.value(key);
        address.filter(|address| !matches!(*address, "" | "any" | "none"))
    };
    let is_v4_only = peer.value("force-ipv4").is_some_and(is_on);
    let v6 = address("bindaddress6").filter(|_| !is_v4_only);
    match (address("bindaddress"), v6) {
        (Some(v4), Some(v6)) => Err(format!(
            "bindaddress {v4} and bindaddress6 {v6}: `bind' is one address"
        )),
        (Some(one), None) | (None, Some(one)) if one.parse::<IpAddr>().is_err() => {
            Err(format!("bindaddress `{one}' is not an address"))
        }
        (v4, v6) => Ok(v4.or(v6)),
    }
}

/// Reports the keys that are not translated, and the peers that no line of newsfeeds feeds.
pub fn report_rest(
    (file, group): (&ConfFile, &Group),
    is_fed: &dyn Fn(&str) -> bool,
    report: &mut Report,
) {
    if group.kind == "peer" && !is_fed(&group.name) {
        let told = format!(
            "{}: no line of newsfeeds feeds it, so INN does not",
            group.name
        );
        report.add(file.at(group.line), Fate::Unneeded, told);
        return;
    }
    for pair in &group.pairs {
        if let Some((fate, why)) = loss(pair) {
            let told = format!("{}: {}: {why}", pair.key, pair.value);
            report.add(place(file, pair), fate, told);
        }
    }
    for inner in &group.groups {
        report_rest((file, inner), is_fed, report);
    }
}

/// Whether somebody has to act on a key that turns a function of innfeed on or off which feeds do not have here, and what they do instead.
fn loss(pair: &Pair) -> Option<(Fate, &'static str)> {
    let is_on = is_on(&pair.value);
    let why = match pair.key.as_str() {
        "streaming" if !is_on => "articles are sent by the streaming commands if the peer has them",
        "force-ipv4" if is_on => {
            let why = "set `bind' to an IPv4 address of this machine";
            return Some((Fate::Dropped, why));
        }
        "drop-deferred" if is_on => "articles that the peer defers are offered again",
        "no-backlog" if is_on => "articles wait until the peer takes them",
        "backlog-limit" if pair.value != "0" => {
            "the backlog has no limit; articles that expired are left out"
        }
        "backlog-limit" => return None,
        key if KNOWN.contains(&key) || OWN.contains(&key) => return None,
        _ => return Some((Fate::Dropped, "there is no such setting")),
    };
    Some((Fate::Unneeded, why))
}

/// True for `true`, `yes` and `on`, in any case.
fn is_on(value: &str) -> bool {
    is_true(&value.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_the_groups_around_a_peer_count() {
        let file = ConfFile {
            text: b"port-number: 119\nmax-connections: 3\nip-name: x\n\
                group g { port-number: 434 peer a { } peer b { port-number: 435 } }\npeer c { }\n"
                .to_vec(),
            ..ConfFile::default()
        };
        let top = file.groups();
        for (name, port) in [("a", "434"), ("b", "435"), ("c", "119")] {
            let peer = Peer::find(&top, name).unwrap();
            assert_eq!(peer.value("port-number"), Some(port), "{name}");
            assert_eq!(peer.value("max-connections"), Some("3"), "{name}");
            assert_eq!(peer.own_value("ip-name"), None, "{name}");
        }
        assert!(Peer::find(&top, "d").is_none());
    }
}
