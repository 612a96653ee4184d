//! The lines that the administrator of the other site needs.

use std::net::ToSocketAddrs;

use groups::nntp_server::NNTP_PORT;
use settings::Settings;

use super::entry::{Direction, HEADFEED_KEY, access, host_port, site, wildmat};

/// The facts about us that the other site needs.
pub struct Ours {
    /// Our name in Path.
    pub name: String,
    /// The name of our host.
    pub host: String,
    /// The port at which we listen without TLS.
    pub port: u16,
}

impl Ours {
    /// By our settings; `host`: where the peer reaches us, if not by our name.
    pub fn of(settings: &Settings, host: Option<&str>) -> Ours {
        let listens = server::socket::addresses(&settings.nntp.listen).unwrap_or_default();
        let port = listens.first().map_or(NNTP_PORT, |address| address.port());
        Ours {
            name: settings.name.clone(),
            host: host.unwrap_or(&settings.name).to_owned(),
            // 0: any free port, in tests.
            port: if port == 0 { NNTP_PORT } else { port },
        }
    }

    fn addresses(&self) -> Vec<String> {
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

/// The lines for Broadsheet and for INN. `sent`: C News patterns of what we send; `taken`: a wildmat of what we take. There are none for INN
/// where articles go without their bodies: innfeed sends whole articles, and innd takes no others.
pub fn for_others(
    ours: &Ours,
    direction: Direction,
    sent: &str,
    taken: &str,
    headers: Headers,
) -> Vec<Lines> {
    let Ours { name, host, port } = ours;
    let mut lines = Vec::new();
    let mut add = |system, file, text| lines.push(Lines { system, file, text });
    let mut toml = String::new();
    if direction.is_in() {
        let address = host_port(host, *port, NNTP_PORT);
        let keys = headers.taken.then(|| HEADFEED_KEY.to_owned());
        toml += &site(name, &address, &patterns(taken), keys.as_slice());
    }
    if direction.is_out() {
        if direction.is_in() {
            toml.push('\n');
        }
        toml += &access(name, &ours.addresses(), &wildmat(sent), headers.sent);
    }
    add("Broadsheet", "broadsheet.toml", toml);
    if direction.is_in() && !headers.taken {
        let line = format!("{name}:{taken}/!local:Tm:innfeed!\n");
        add("INN", "newsfeeds", line);
        let mut feed = format!("peer {name} {{\n    ip-name: {host}\n");
        if *port != NNTP_PORT {
            feed += &format!("    port-number: {port}\n");
        }
        add("INN", "innfeed.conf", feed + "}\n");
    }
    if direction.is_out() && !headers.sent {
        let text = format!(
            "peer {name} {{\n    hostname: \"{host}\"\n    patterns: \"{}\"\n}}\n",
            wildmat(sent)
        );
        add("INN", "incoming.conf", text);
    }
    lines
}

/// The C News patterns of a wildmat that [`wildmat`] made, or a similar one.
fn patterns(wildmat: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    for item in wildmat.split(',').map(str::trim) {
        let item = item.strip_suffix(".*").unwrap_or(item);
        let words: Vec<&str> = item
            .split('.')
            .map(|word| match word {
                "*" => "all",
                "!*" => "!all",
                word => word,
            })
            .collect();
        let words = words.join(".");
        if !words.is_empty() && parts.last() != Some(&words) {
            parts.push(words);
        }
    }
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_and_wildmats_say_the_same() {
        for text in ["all", "comp,news", "all,!comp.sys", "comp.all.test", "!all"] {
            assert_eq!(patterns(&wildmat(text)), text);
        }
    }

    #[test]
    fn each_direction_has_its_lines() {
        let ours = Ours {
            name: "a.example".to_owned(),
            host: "127.0.0.1".to_owned(),
            port: 1119,
        };
        let files = |direction| -> Vec<&str> {
            let lines = for_others(&ours, direction, "comp", "*", Headers::default());
            lines.iter().map(|lines| lines.file).collect()
        };
        assert_eq!(files(Direction::Out), ["broadsheet.toml", "incoming.conf"]);
        assert_eq!(
            files(Direction::In),
            ["broadsheet.toml", "newsfeeds", "innfeed.conf"]
        );
        let both = for_others(&ours, Direction::Both, "comp", "*", Headers::default());
        let texts: String = both.iter().map(|lines| lines.text.as_str()).collect();
        for part in [
            "via = { nntp = \"127.0.0.1:1119\" }",
            "from = [\"127.0.0.1\"]",
            "send = \"comp.*\"",
            "a.example:*/!local:Tm:innfeed!",
            "port-number: 1119",
            "hostname: \"127.0.0.1\"",
        ] {
            assert!(texts.contains(part), "{part} in {texts}");
        }
        let headers = Headers {
            sent: true,
            taken: true,
        };
        let both = for_others(&ours, Direction::Both, "comp", "*", headers);
        assert_eq!(both.len(), 1, "none for INN");
        assert_eq!(both[0].text.matches(HEADFEED_KEY).count(), 2);
    }
}
