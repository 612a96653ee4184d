//! Broadsheet's own server: everything about how it is started is here.

use std::fs::{self, File};
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use super::client::PEER;
use super::servers::{Ended, Running, free_port, wait_for};
use crate::site::{Batch, Site};

/// Added to broadsheet.toml: readers may read all, the peer's address may feed all.
fn settings(tls: Option<&Tls>) -> String {
    let mut text = format!("\n# peer {PEER}\n");
    if let Some(tls) = tls {
        text.push_str(&format!("# tls {}\n", tls.address));
    }
    text
}

/// What TLS needs; made by openssl, where there is one.
struct Tls {
    address: SocketAddr,
}

/// Starts `broadsheet serve --listen` on a fresh news directory.
///
/// # Errors
/// What it said.
pub fn start(site: &mut Site, batch: &Batch) -> Result<Running> {
    let disk = site.disk.clone();
    let system = site.system(&disk, batch)?;
    let news = system.dir.join("news");
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
    let (tls, client) = match certificate(&news) {
        Ok(client) => {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
            (Some(Tls { address }), Some((address, client)))
        }
        Err(error) => {
            eprintln!("no TLS: {error:#}");
            (None, None)
        }
    };
    File::options()
        .append(true)
        .open(news.join("broadsheet.toml"))?
        .write_all(settings(tls.as_ref()).as_bytes())?;
    let log = system.dir.join("serve.log");
    let child = Command::new(&site.binary)
        .args(["serve", "--listen", &address.to_string(), "--dir"])
        .arg(&news)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&log)?)
        .spawn()
        .context("starting broadsheet serve")?;
    let mut child = Ended(child);
    wait_for(&mut child, address, &log)?;
    Ok(Running::of_child(child, address, client, system.dir))
}

/// A certificate of its own for 127.0.0.1 in `tls.crt` and `tls.key`, and a client that trusts it.
fn certificate(news: &Path) -> Result<Arc<ClientConfig>> {
    let (file, key) = (news.join("tls.crt"), news.join("tls.key"));
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
