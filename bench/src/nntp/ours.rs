//! Starts Broadsheet's own server.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use super::client::PEER;
use super::running::{Ended, Running, wait_for};
use crate::machine::free_port;
use crate::site::{Batch, Site};

/// Most readers from one address: all of them are on this machine.
const CONNECTIONS_PER_ADDRESS_MAX: u64 = 20_000;

/// The settings of `broadsheet init`, changed for TLS, for the number of readers from one
/// address, for the peer's address that may feed everything, for all others that may read everything, and with more sites.
fn settings(
    written: &str,
    tls: Option<SocketAddr>,
    (peers, sites): (&str, &str),
) -> Result<String> {
    let most = CONNECTIONS_PER_ADDRESS_MAX.to_string();
    let mut changes = vec![("connections_per_address_max", most)];
    if let Some(address) = tls {
        changes.push(("listen_tls", format!("\"{address}\"")));
        changes.push(("certificate", format!("\"{CERTIFICATE}\"")));
        changes.push(("key", format!("\"{KEY}\"")));
    }
    let mut text = written.to_owned();
    for (key, value) in changes {
        text = changed(&text, key, &value)
            .with_context(|| format!("broadsheet init writes no key {key} in [nntp]"))?;
    }
    text.push_str(&format!(
        "\n[[access]]\nname = \"peer.example\"\nfrom = [{peers}]\nread = \"*\"\nsend = \"*\"\n\
         \n[[access]]\nname = \"readers\"\nfrom = [\"local\"]\nread = \"*\"\n{sites}"
    ));
    Ok(text)
}

/// Changes the value of a key of `[nntp]` in the text.
fn changed(text: &str, key: &str, value: &str) -> Option<String> {
    let (before, section) = text.split_once("\n[nntp]\n")?;
    let line = format!("\n{key} = ");
    let (above, old) = section.split_once(&line)?;
    let below = old.split_once('\n').map_or("", |(_, below)| below);
    Some(format!("{before}\n[nntp]\n{above}{line}{value}\n{below}"))
}

/// Name in the news directory.
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";

/// Starts `broadsheet serve --listen` in a new news directory.
///
/// # Errors
/// The output of the daemon.
pub fn start(site: &mut Site, batch: &Batch) -> Result<Running> {
    start_with(site, batch, &format!("\"{PEER}\""), "")
}

/// As [`start`], with the addresses that may feed everything, in quotation marks, and with these lines for other sites.
///
/// # Errors
/// As [`start`].
pub fn start_with(site: &mut Site, batch: &Batch, peers: &str, sites: &str) -> Result<Running> {
    prepare(site, batch, peers, sites)?.start(&site.binary)
}

/// A news directory that is ready to be served.
pub struct Prepared {
    /// The directory around it.
    dir: PathBuf,
    /// The news directory.
    pub news: PathBuf,
    address: SocketAddr,
    tls: Option<(SocketAddr, Arc<ClientConfig>)>,
}

/// Makes a news directory, as [`start_with`] needs it.
///
/// # Errors
/// Those of `broadsheet init`.
pub fn prepare(site: &mut Site, batch: &Batch, peers: &str, sites: &str) -> Result<Prepared> {
    let disk = site.disk.clone();
    let system = site.system(&disk, batch)?;
    let news = system.dir.join("news");
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
    let tls = match certificate(&news) {
        Ok(client) => {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
            Some((address, client))
        }
        Err(error) => {
            eprintln!("no TLS: {error:#}");
            None
        }
    };
    let file = news.join("broadsheet.toml");
    let written = fs::read_to_string(&file).context("reading what broadsheet init wrote")?;
    let listening = tls.as_ref().map(|(address, _)| *address);
    fs::write(&file, settings(&written, listening, (peers, sites))?)?;
    Ok(Prepared {
        dir: system.dir,
        news,
        address,
        tls,
    })
}

impl Prepared {
    /// Serves it with this program.
    ///
    /// # Errors
    /// The output of the daemon.
    pub fn start(&self, binary: &Path) -> Result<Running> {
        let log = self.dir.join("serve.log");
        let child = Command::new(binary)
            .args(["serve", "--listen", &self.address.to_string(), "--dir"])
            .arg(&self.news)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            .spawn()
            .context("starting broadsheet serve")?;
        let mut child = Ended(child);
        wait_for(&mut child, self.address, &log)?;
        Ok(Running::of_child(
            child,
            self.address,
            self.tls.clone(),
            self.dir.clone(),
        ))
    }
}

/// Makes a certificate for 127.0.0.1 in `tls.crt` and `tls.key`, and a client that trusts it.
fn certificate(news: &Path) -> Result<Arc<ClientConfig>> {
    let (file, key) = (news.join(CERTIFICATE), news.join(KEY));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt"])
        .args(["ec_paramgen_curve:prime256v1", "-nodes", "-days", "30"])
        .args(["-subj", "/CN=127.0.0.1", "-addext"])
        .args(["subjectAltName=IP:127.0.0.1", "-addext"])
        .args(["basicConstraints=critical,CA:FALSE", "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&file)
        .stderr(Stdio::null())
        .status()
        .context("running openssl")?;
    if !made.success() || fs::metadata(&file).is_err() {
        bail!("openssl made no certificate");
    }
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&file)?)?;
    let settings = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(settings))
}

#[cfg(test)]
mod tests {
    use super::changed;

    #[test]
    fn only_keys_of_the_section_change() {
        let text =
            "key = 1\n[post]\nkey = 2\n\n[nntp]\n# key = 3\nlisten = \"\"\nkey = \"\"\nx = 4\n";
        let expected = text.replace("key = \"\"", "key = \"a\"");
        assert_eq!(changed(text, "key", "\"a\""), Some(expected));
        assert_eq!(changed(text, "nothing", "5"), None);
    }
}
