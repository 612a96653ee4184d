//! Trust, password and layers of the connections to another NNTP server.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::Path;

use groups::nntp_server::{NntpServer, Tls};
use layers::files::{self, FileError, Kind};
use layers::{ClientLayers, ClientTrust, Fingerprint, LayersError, Trust, TrustError};
use nntp::client::{Login, Opening};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with, sockopt};
use thiserror::Error;

/// Largest file of a password, bytes.
pub const PASSWORD_FILE_BYTES_MAX: u64 = 64 << 10;
/// Longest password, bytes: it fits a command line.
pub const PASSWORD_BYTES_MAX: usize = 400;

const PASSWORD: Kind = Kind {
    noun: "a file with a password",
    bytes_max: PASSWORD_FILE_BYTES_MAX,
    secret: Some("password"),
};

/// A server cannot be called.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// Its password cannot be read.
    #[error("{0}")]
    File(#[from] FileError),
    /// The file of its password has none.
    #[error("{}: the first line is no password: it is empty, longer than {PASSWORD_BYTES_MAX} bytes, or has control characters", .0.display())]
    Password(std::path::PathBuf),
    /// TLS cannot be set up.
    #[error("{0}")]
    Trust(#[from] TrustError),
}

/// A server with the content of the files that its settings name. A clone shares most of it.
#[derive(Debug, Clone)]
pub struct Remote {
    server: NntpServer,
    trust: Option<ClientTrust>,
    login: Option<Login>,
}

impl Remote {
    /// Reads the files. `news`: the news directory, to which their names are relative.
    ///
    /// # Errors
    /// A file is missing or unusable, or other users may read the password.
    pub fn open(news: &Path, server: &NntpServer) -> Result<Remote, RemoteError> {
        let trust = match server.tls {
            Tls::None => None,
            Tls::StartTls | Tls::Implicit => {
                let trust = Trust {
                    ca: server.tls_ca.as_ref().map(|path| news.join(path)),
                    fingerprint: server.tls_fingerprint.map(Fingerprint),
                    name: server.tls_name.clone(),
                };
                Some(ClientTrust::new(&server.host, &trust)?)
            }
        };
        let login = match &server.login {
            None => None,
            Some((user, path)) => Some(Login {
                user: user.as_bytes().to_vec(),
                password: password(&news.join(path))?,
            }),
        };
        Ok(Remote {
            server: server.clone(),
            trust,
            login,
        })
    }

    /// The server.
    pub fn server(&self) -> &NntpServer {
        &self.server
    }

    /// A socket to connect to an address of the server, bound to the address of `bind`.
    ///
    /// # Errors
    /// No descriptor is left; this machine does not have the address of `bind`.
    pub(crate) fn socket(&self, address: SocketAddr, flags: SocketFlags) -> io::Result<OwnedFd> {
        let family = match address {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        let socket = socket_with(
            family,
            SocketType::STREAM,
            flags | SocketFlags::CLOEXEC,
            None,
        )?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        if let Some(from) = self.server.bind {
            bind(&socket, &SocketAddr::new(from, 0)).map_err(|errno| {
                let error = io::Error::from(errno);
                io::Error::new(
                    error.kind(),
                    format!("the address of `bind', {from}: {error}"),
                )
            })?;
        }
        Ok(socket)
    }

    /// The layers of a new connection, before its first byte.
    ///
    /// # Errors
    /// No random numbers.
    pub fn layers(&self) -> Result<ClientLayers, LayersError> {
        match (&self.trust, self.server.tls) {
            (Some(trust), Tls::Implicit) => ClientLayers::implicit(trust),
            _ => Ok(ClientLayers::plain()),
        }
    }

    /// Begins TLS after the reply to STARTTLS. `unread`: the received bytes behind it.
    ///
    /// # Errors
    /// There are such bytes.
    pub fn begin_tls(&self, layers: &mut ClientLayers, unread: &[u8]) -> Result<(), LayersError> {
        match &self.trust {
            Some(trust) => layers.begin_tls(trust, unread),
            // Nobody asks for STARTTLS then.
            None => Ok(()),
        }
    }

    /// The protocol of a new connection, up to its first article.
    pub fn opening(&self) -> Opening {
        let tls = self.server.tls;
        let mut opening = Opening::new(tls == Tls::StartTls, tls == Tls::Implicit);
        if let Some(login) = &self.login {
            opening = opening.with_login(login.clone(), self.server.allow_plaintext_login);
        }
        if self.server.compress {
            opening.with_compression()
        } else {
            opening
        }
    }
}

/// The first line of a file that only its owner may read.
fn password(path: &Path) -> Result<Vec<u8>, RemoteError> {
    let text = files::read(path, PASSWORD)?;
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let is_password = !line.is_empty()
        && line.len() <= PASSWORD_BYTES_MAX
        && !line.iter().any(u8::is_ascii_control);
    if is_password {
        Ok(line.to_vec())
    } else {
        Err(RemoteError::Password(path.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_password_is_the_first_line_of_a_private_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("password");
        let read = |text: &[u8], mode| {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let mut server = NntpServer::new("news.example", 119);
            server.login = Some(("us".to_owned(), "password".into()));
            Remote::open(dir.path(), &server).map(|remote| remote.login.unwrap().password)
        };
        assert_eq!(
            read(b"secret word\r\nremark\n", 0o600).unwrap(),
            b"secret word"
        );
        assert_eq!(read(b"secret", 0o400).unwrap(), b"secret");
        for text in [&b""[..], b"\nsecret", b"a\0b", &[b'a'; 401]] {
            assert!(matches!(read(text, 0o600), Err(RemoteError::Password(_))));
        }
        let told = read(b"secret", 0o644).unwrap_err().to_string();
        assert!(
            told.contains("other users may read this password (mode 0644)"),
            "{told}"
        );
        std::fs::remove_file(&path).unwrap();
        let server = NntpServer {
            login: Some(("us".to_owned(), "password".into())),
            ..NntpServer::new("news.example", 119)
        };
        assert!(Remote::open(dir.path(), &server).is_err());
    }
}
