//! The lines that the administrator of the other site needs.

use std::net::{IpAddr, ToSocketAddrs};

use groups::nntp_server::NNTP_PORT;
use settings::Settings;

use super::entry::{Direction, HEADFEED_KEY, access, host_port, site};
use super::exchanged::ExchangedGroups;

/// The facts about us that the other site needs.
pub struct Ours {
    /// Our name in Path.
    pub name: String,
    /// The name of our host.
    pub host: String,
    /// The port at which we listen without TLS.
    pub port: u16,
    /// The address from which we call; `None`: those of the host.
    pub bind: Option<IpAddr>,
}

impl Ours {
    /// By our settings; `host`: where the peer reaches us, if not by our name; `bind`: the local address of our connections to it.
    pub fn of(settings: &Settings, host: Option<&str>, bind: Option<IpAddr>) -> Ours {
        let listens = server::socket::addresses(&settings.nntp.listen).unwrap_or_default();
        let port = listens.first().map_or(NNTP_PORT, |address| address.port());
        Ours {
            name: settings.name.clone(),
            host: host.unwrap_or(&settings.name).to_owned(),
            // 0: any free port, in tests.
            port: if port == 0 { NNTP_PORT } else { port },
            bind,
        }
    }

    /// The addresses from which we call.
    fn addresses(&self) -> Vec<String> {
        if let Some(bind) = self.bind {
            return vec![bind.to_string()];
        }
        let found = (self.host.as_str(), self.port).to_socket_addrs();
        let found: Vec<String> = found
            .map(|all| all.map(|address| address.ip().to_string()).collect())
            .unwrap_or_default();
        match found.is_empty() {
            true => vec![format!("THE ADDRESS OF {}", self.host)],
            false => found,
        }
    }
}

/// Some lines, and the file to which they belong.
pub struct Lines {
    /// The news system.
    pub system: &'static str,
    pub file: &'static str,
    pub text: String,
}

/// Whether articles go without their bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    /// Those that we send.
    pub sent: bool,
    /// Those that we take.
    pub taken: bool,
}

/// The lines for Broadsheet and for INN. `sent` and `taken`: the groups that we send and take. A comment says where a list differs from ours, or why
/// there are no lines. There are none for INN where articles go without their bodies: innfeed sends whole articles, and innd takes no others.
pub fn for_others(
    ours: &Ours,
    direction: Direction,
    sent: &ExchangedGroups,
    taken: &ExchangedGroups,
    headers: Headers,
) -> Vec<Lines> {
    let Ours {
        name,
        host,
        port,
        bind,
    } = ours;
    let mut lines = Vec::new();
    let mut add = |system, file, text| lines.push(Lines { system, file, text });
    let mut toml = String::new();
    if direction.is_in() {
        let address = host_port(host, *port, NNTP_PORT);
        let keys = headers.taken.then(|| HEADFEED_KEY.to_owned());
        toml += &match &taken.patterns {
            Ok(patterns) => {
                patterns.comment() + &site(name, &address, &patterns.text, keys.as_slice())
            }
            Err(why) => {
                format!("# no [[site]] can be given for what {name} takes: {why}\n")
            }
        };
    }
    if direction.is_out() {
        if direction.is_in() {
            toml.push('\n');
        }
        toml += &sent.wildmat.comment();
        toml += &access(name, &ours.addresses(), &sent.wildmat.text, headers.sent);
    }
    add("Broadsheet", "broadsheet.toml", toml);
    if direction.is_in() && !headers.taken && !taken.wildmat.text.is_empty() {
        // INN puts the patterns of ME before those of each site; `!*' ends what they include.
        let line = format!("{name}:!*,{}/!local:Tm:innfeed!\n", taken.wildmat.text);
        add("INN", "newsfeeds", taken.wildmat.comment() + &line);
        let mut feed = format!("peer {name} {{\n    ip-name: {host}\n");
        if *port != NNTP_PORT {
            feed += &format!("    port-number: {port}\n");
        }
        add("INN", "innfeed.conf", feed + "}\n");
    }
    if direction.is_out() && !headers.sent {
        let host = bind.map_or_else(|| host.clone(), |bind| bind.to_string());
        let text = format!(
            "peer {name} {{\n    hostname: \"{host}\"\n    patterns: \"{}\"\n}}\n",
            sent.wildmat.text
        );
        add("INN", "incoming.conf", sent.wildmat.comment() + &text);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_direction_has_its_lines() {
        let ours = Ours {
            name: "a.example".to_owned(),
            host: "127.0.0.1".to_owned(),
            port: 1119,
            bind: None,
        };
        let [sent, taken] = ["comp", "all"].map(ExchangedGroups::of_patterns);
        let files = |direction| -> Vec<&str> {
            let lines = for_others(&ours, direction, &sent, &taken, Headers::default());
            lines.iter().map(|lines| lines.file).collect()
        };
        assert_eq!(files(Direction::Out), ["broadsheet.toml", "incoming.conf"]);
        assert_eq!(
            files(Direction::In),
            ["broadsheet.toml", "newsfeeds", "innfeed.conf"]
        );
        let both = for_others(&ours, Direction::Both, &sent, &taken, Headers::default());
        let texts: String = both.iter().map(|lines| lines.text.as_str()).collect();
        for part in [
            "via = { nntp = \"127.0.0.1:1119\" }",
            "from = [\"127.0.0.1\"]",
            "send = \"comp,comp.*\"",
            "a.example:!*,*/!local:Tm:innfeed!",
            "port-number: 1119",
            "hostname: \"127.0.0.1\"",
        ] {
            assert!(texts.contains(part), "{part} in {texts}");
        }
        let tunnel = Ours {
            bind: "192.0.2.7".parse().ok(),
            ..ours
        };
        let ours = &tunnel;
        let both = for_others(ours, Direction::Both, &sent, &taken, Headers::default());
        let texts: String = both.iter().map(|lines| lines.text.as_str()).collect();
        for part in [
            "via = { nntp = \"127.0.0.1:1119\" }",
            "from = [\"192.0.2.7\"]",
            "hostname: \"192.0.2.7\"",
            "ip-name: 127.0.0.1",
        ] {
            assert!(texts.contains(part), "{part} in {texts}");
        }
        let headers = Headers {
            sent: true,
            taken: true,
        };
        let both = for_others(ours, Direction::Both, &sent, &taken, headers);
        assert_eq!(both.len(), 1, "none for INN");
        assert_eq!(both[0].text.matches(HEADFEED_KEY).count(), 2);
    }
}
