//! `[nntp]` and `[auth]`: the NNTP server, and how people log in to it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use access::Feature;
use groups::command_line::{CommandError, CommandLine};
use server::socket;

/// `[auth]`: how people log in, besides by the file of users.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Auth {
    /// The command that checks names and passwords; empty for none.
    pub program: String,
    /// Seconds that it may take.
    pub program_seconds: u64,
}

impl Auth {
    /// The command, split into words. `None`: there is none.
    pub fn command(&self) -> Option<Result<CommandLine, CommandError>> {
        let line = self.program.trim();
        (!line.is_empty()).then(|| CommandLine::parse(line.as_bytes()))
    }
}

/// `[nntp]`: the NNTP server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Nntp {
    /// The addresses with ports at which it listens, commas between them; empty for none.
    pub listen: String,
    /// As `listen`, with TLS from the first byte on.
    pub listen_tls: String,
    /// The certificate with its chain, PEM; empty for no TLS.
    pub certificate: String,
    /// Its key, PEM.
    pub key: String,
    /// The features that are switched off for all clients ([`access::Feature`]).
    pub without: String,
    /// Accepts passwords without TLS.
    pub plaintext_passwords: bool,
    /// Seconds from one command to the next.
    pub idle_seconds: u64,
    /// Seconds from the connection to the first command.
    pub first_seconds: u64,
    /// Connections in all.
    pub connections_max: u64,
    /// Connections from one address.
    pub connections_per_address_max: u64,
    /// Threads for connections; 0 for one per processor.
    pub threads: u64,
    /// Bytes of the disk that stay free; with less, no articles are accepted.
    pub keep_free: u64,
    /// The address at which metrics are served; empty for none.
    pub metrics: String,
}

impl Nntp {
    /// The errors, each with its key.
    pub(crate) fn faults(&self) -> Vec<(&'static str, String)> {
        let mut faults = self.addresses_faults();
        match (self.certificate.is_empty(), self.key.is_empty()) {
            (false, true) => faults.push(("nntp.certificate", TOGETHER.replace("KEY", "key"))),
            (true, false) => faults.push(("nntp.key", TOGETHER.replace("KEY", "certificate"))),
            _ => {}
        }
        if let Err(fault) = Feature::parse_list(&self.without) {
            faults.push(("nntp.without", fault));
        }
        if let Err(fault) = self.metrics_address() {
            faults.push(("nntp.metrics", fault));
        }
        faults
    }

    fn addresses_faults(&self) -> Vec<(&'static str, String)> {
        let mut faults = Vec::new();
        let mut all: Vec<SocketAddr> = Vec::new();
        for (key, text) in [
            ("nntp.listen", &self.listen),
            ("nntp.listen_tls", &self.listen_tls),
        ] {
            match socket::addresses(text) {
                Err(fault) => faults.push((key, fault.to_string())),
                Ok(addresses) => {
                    for address in addresses {
                        match all.iter().find(|other| socket::collide(**other, address)) {
                            Some(other) if *other == address => {
                                faults.push((key, format!("has {address} for the second time")));
                            }
                            Some(other) => {
                                let told = format!(
                                    "has {address} beside {other}, which takes in the other"
                                );
                                faults.push((key, told));
                            }
                            None => {}
                        }
                        all.push(address);
                    }
                }
            }
        }
        let has_tls = !socket::addresses(&self.listen_tls)
            .unwrap_or_default()
            .is_empty();
        if has_tls && self.certificate.is_empty() && self.key.is_empty() {
            let told = "needs a certificate: set nntp.certificate and nntp.key".to_owned();
            faults.push(("nntp.listen_tls", told));
        }
        faults
    }

    /// The address at which metrics are served; `None`: nowhere.
    ///
    /// # Errors
    /// What is wrong with it, as the rest of a sentence that begins with the key.
    pub fn metrics_address(&self) -> Result<Option<SocketAddr>, String> {
        let text = self.metrics.trim();
        if text.is_empty() {
            return Ok(None);
        }
        let (is_open, address) = match text.strip_prefix("open ") {
            Some(address) => (true, address.trim()),
            None => (false, text),
        };
        let address: SocketAddr = address.parse().map_err(|_| {
            format!("needs an address with a port (127.0.0.1:9119), not `{address}'")
        })?;
        if !is_open && !address.ip().is_loopback() {
            return Err(format!(
                "{address} can be reached by other machines, and everybody there may read the metrics; if that is meant, say \"open {address}\""
            ));
        }
        Ok(Some(address))
    }

    /// The features that are switched off for all clients.
    pub fn switched_off(&self) -> Vec<Feature> {
        // An unknown word was an error when the settings were read.
        Feature::parse_list(&self.without).unwrap_or_default()
    }

    /// The files of the certificate and of its key; `None`: no TLS.
    pub fn certificate_files(&self, news: &Path) -> Option<[PathBuf; 2]> {
        let files = [&self.certificate, &self.key];
        (!self.certificate.is_empty()).then(|| files.map(|name| news.join(name)))
    }

    /// The keys that have changed since the daemon was `started`, and that a running daemon cannot change.
    pub fn wants_new_start(&self, started: &Nntp) -> Vec<&'static str> {
        let keys = [
            ("nntp.listen", self.listen != started.listen),
            ("nntp.listen_tls", self.listen_tls != started.listen_tls),
            ("nntp.threads", self.threads != started.threads),
            ("nntp.metrics", self.metrics != started.metrics),
        ];
        let others = keys.into_iter().filter(|(_, is_other)| *is_other);
        others.map(|(key, _)| key).collect()
    }
}

const TOGETHER: &str =
    "needs nntp.KEY beside it: certificate and key go together (one file may hold both)";

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn address(text: &str) -> Result<Option<SocketAddr>, String> {
        let nntp = Nntp {
            metrics: text.to_owned(),
            ..crate::Settings::default().nntp
        };
        nntp.metrics_address()
    }

    #[test]
    fn addresses_of_metrics_beyond_loopback_have_to_be_meant() {
        assert_eq!(address(" "), Ok(None));
        for good in ["127.0.0.1:9119", "[::1]:9119", "open 0.0.0.0:9119"] {
            assert!(matches!(address(good), Ok(Some(_))), "{good}");
        }
        let told = address("0.0.0.0:9119").unwrap_err();
        assert!(told.ends_with("say \"open 0.0.0.0:9119\""), "{told}");
        assert!(address("localhost").is_err());
    }

    proptest! {
        #[test]
        fn no_address_makes_it_panic(text: String) {
            let _ = address(&text);
        }
    }
}
