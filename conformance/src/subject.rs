//! The server under test: Broadsheet, INN, or any server at an address.

mod broadsheet;
mod inn;
mod server;

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Instant;

use crate::capabilities::Capabilities;
use crate::case::Need;
use crate::fixture::{self, Sent};
use crate::line::{Connection, REPLY_TIMEOUT, initial_line};

use server::Server;

/// The environment variable that selects the subject: empty or `broadsheet`, `inn`, or `HOST:PORT`.
pub const VARIABLE: &str = "NNTP_TEST_SUBJECT";

/// A server under test, prepared or not.
pub struct Subject {
    name: &'static str,
    address: SocketAddr,
    tls_address: Option<SocketAddr>,
    is_prepared: bool,
    run: String,
    known: RefCell<HashMap<&'static str, Capabilities>>,
    server: Option<Server>,
}

/// The reason why there is no subject.
#[derive(Debug)]
pub enum Absent {
    /// The server is not installed, or cannot run here.
    Missing(String),
    /// The server should run, but failed.
    Broken(String),
}

impl Subject {
    /// Starts and prepares the subject that the environment selects.
    pub fn named(name: &str) -> Result<Subject, Absent> {
        match name {
            "" | "broadsheet" => Subject::prepared("broadsheet", broadsheet::start()?),
            "inn" => Subject::prepared("inn", inn::start()?),
            _ => {
                let broken = |why: String| Absent::Broken(format!("{VARIABLE}={name}: {why}"));
                let mut found = name
                    .to_socket_addrs()
                    .map_err(|error| broken(error.to_string()))?;
                let address = found
                    .next()
                    .ok_or_else(|| broken("it has no address".to_owned()))?;
                Ok(Subject::at("", address))
            }
        }
    }

    fn at(name: &'static str, address: SocketAddr) -> Subject {
        Subject {
            name,
            address,
            tls_address: None,
            is_prepared: false,
            run: format!("{:x}.{:x}", fixture::now(), std::process::id()),
            known: RefCell::default(),
            server: None,
        }
    }

    fn prepared(name: &'static str, server: Server) -> Result<Subject, Absent> {
        let mut subject = Subject::at(name, server.address);
        subject.tls_address = server.tls_address;
        subject.is_prepared = true;
        subject.server = Some(server);
        let broken = |why| Absent::Broken(format!("preparing {name}: {why}"));
        subject.feed(&fixture::articles()).map_err(broken)?;
        subject.until_there().map_err(broken)?;
        Ok(subject)
    }

    /// `broadsheet`, `inn`, or empty for a server at an address.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The address of its listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of its listener with implicit TLS.
    pub fn tls_address(&self) -> Option<SocketAddr> {
        self.tls_address
    }

    /// Whether it has the groups and articles of [`fixture`].
    pub fn is_prepared(&self) -> bool {
        self.is_prepared
    }

    /// Whether it knows [`fixture::USER`].
    pub fn knows_user(&self) -> bool {
        self.is_prepared
    }

    /// Whether its SASL knows that user. INN's SASL uses Cyrus's own database, which this suite does not write.
    pub fn knows_sasl_user(&self) -> bool {
        self.is_prepared && self.name != "inn"
    }

    /// A word unique to this run, for message-ids.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// Its capabilities for a peer, a reader, or a reader under TLS.
    pub fn capabilities(&self, way: &Need) -> Result<Capabilities, String> {
        let name = match way {
            Need::Transit => "peer",
            Need::Tls => "reader under TLS",
            Need::TlsPort => "port with TLS",
            _ => "reader",
        };
        if let Some(known) = self.known.borrow().get(name) {
            return Ok(known.clone());
        }
        let asked = self.ask(way)?;
        self.known.borrow_mut().insert(name, asked.clone());
        Ok(asked)
    }

    fn ask(&self, way: &Need) -> Result<Capabilities, String> {
        let address = match (way, self.tls_address) {
            (Need::TlsPort, Some(address)) => address,
            _ => self.address,
        };
        let mut connection = Connection::open(address).map_err(|error| error.to_string())?;
        let lost = |error: std::io::Error| error.to_string();
        if *way == Need::TlsPort {
            connection.start_tls().map_err(lost)?;
        }
        answer(&mut connection)?;
        let first = Capabilities::ask(&mut connection)?;
        if matches!(way, Need::Transit | Need::TlsPort) || !first.have("MODE-READER", None) {
            if *way != Need::Tls {
                return Ok(first);
            }
        } else {
            connection.send(b"MODE READER\r\n").map_err(lost)?;
            answer(&mut connection)?;
        }
        if *way == Need::Tls {
            connection.send(b"STARTTLS\r\n").map_err(lost)?;
            if answer(&mut connection)? != "382" {
                return Ok(Capabilities::default());
            }
            connection.start_tls().map_err(lost)?;
        }
        Capabilities::ask(&mut connection)
    }

    /// Offers articles as a peer (RFC 3977, 6.3.2).
    fn feed(&self, articles: &[Sent]) -> Result<(), String> {
        let lost = |error: std::io::Error| error.to_string();
        let mut peer = Connection::open(self.address).map_err(lost)?;
        answer(&mut peer)?;
        for sent in articles {
            peer.send(format!("IHAVE {}\r\n", sent.id).as_bytes())
                .map_err(lost)?;
            let code = answer(&mut peer)?;
            if code != "335" {
                return Err(format!("IHAVE {} gets the reply {code}", sent.id));
            }
            peer.send(&stuffed(&sent.article)).map_err(lost)?;
            let code = answer(&mut peer)?;
            if code != "235" {
                return Err(format!("{} gets the reply {code}", sent.id));
            }
        }
        Ok(())
    }

    /// Waits until a reader finds the last article, and no longer finds the cancelled ones.
    fn until_there(&self) -> Result<(), String> {
        let begin = Instant::now();
        let lost = |error: std::io::Error| error.to_string();
        loop {
            let mut reader = Connection::open(self.address).map_err(lost)?;
            answer(&mut reader)?;
            if self.capabilities(&Need::Transit)?.have("MODE-READER", None) {
                reader.send(b"MODE READER\r\n").map_err(lost)?;
                answer(&mut reader)?;
            }
            let mut codes = Vec::new();
            for question in [
                "STAT <closed.1@conformance.example>",
                "STAT <holes.8@conformance.example>",
                "GROUP conf.holes",
                "STAT 8",
            ] {
                reader
                    .send(format!("{question}\r\n").as_bytes())
                    .map_err(lost)?;
                codes.push(answer(&mut reader)?);
            }
            if codes == ["223", "430", "211", "423"] {
                return Ok(());
            }
            if begin.elapsed() > REPLY_TIMEOUT {
                return Err(format!(
                    "the articles are missing, or the cancels had no effect: {codes:?}"
                ));
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }
}

/// The code of the next reply.
fn answer(connection: &mut Connection) -> Result<String, String> {
    let line = connection.line().map_err(|error| error.to_string())?;
    let line = line.ok_or("the server closed the connection")?;
    let text = initial_line(&line)?;
    let code = text.get(..3).unwrap_or_default();
    Ok(String::from_utf8_lossy(code).into_owned())
}

/// Formats an article as a block: doubles dots, adds the final dot (RFC 3977, 3.1.1).
fn stuffed(article: &[u8]) -> Vec<u8> {
    let mut block = Vec::with_capacity(article.len() + 8);
    for line in article.split_inclusive(|&octet| octet == b'\n') {
        if line.starts_with(b".") {
            block.push(b'.');
        }
        block.extend_from_slice(line);
    }
    block.extend_from_slice(b".\r\n");
    block
}

#[cfg(test)]
mod tests {
    use super::stuffed;

    #[test]
    fn dots_are_doubled() {
        assert_eq!(stuffed(b".\r\na.\r\n..\r\n"), b"..\r\na.\r\n...\r\n.\r\n");
    }
}
