//! A server with a bucket, of each provider that this machine can have, for one test.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "a test fails by panicking, and each uses a part"
)]

use std::path::{Path, PathBuf};

use super::azure_server::{self, AzureServer};
use super::s3_server::{self, S3Server, write_login};

/// The services.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// S3: versitygw, or Garage.
    S3,
    /// Google's interface, as far as it is that of S3: the same server.
    Google,
    /// Azure: Azurite.
    Azure,
}

/// All of them.
pub const PROVIDERS: [Provider; 3] = [Provider::S3, Provider::Google, Provider::Azure];

pub struct BucketServer {
    pub provider: Provider,
    server: Server,
}

enum Server {
    S3(S3Server),
    Azure(AzureServer),
}

impl BucketServer {
    /// Starts a server with an empty bucket. `None`: a skip was printed.
    pub fn start(provider: Provider) -> Option<BucketServer> {
        BucketServer::start_with(provider, None)
    }

    /// The same, with TLS: the files of the certificate and of its key.
    pub fn start_with(provider: Provider, tls: Option<[PathBuf; 2]>) -> Option<BucketServer> {
        let server = match provider {
            Provider::S3 => Server::S3(S3Server::start_with(s3_server::REGION, tls)?),
            Provider::Google => Server::S3(S3Server::start_with("auto", tls)?),
            Provider::Azure => Server::Azure(AzureServer::start_with(tls)?),
        };
        Some(BucketServer { provider, server })
    }

    /// The URL of the bucket, with a prefix behind it.
    pub fn url(&self, prefix: &str) -> String {
        match self.provider {
            Provider::S3 => format!("s3://{}/{prefix}", s3_server::BUCKET),
            Provider::Google => format!("gs://{}/{prefix}", s3_server::BUCKET),
            Provider::Azure => format!("az://{}/{prefix}", azure_server::CONTAINER),
        }
    }

    /// The URL of the servers.
    pub fn endpoint(&self) -> String {
        match &self.server {
            Server::S3(server) => server.endpoint(),
            Server::Azure(server) => server.endpoint(),
        }
    }

    /// The two lines of the file of the keys.
    pub fn keys(&self) -> [&'static str; 2] {
        match &self.server {
            Server::S3(server) => server.keys(),
            Server::Azure(server) => server.keys(),
        }
    }

    /// The first line of a login that the server does not know, and the second one of a login with the wrong secret.
    pub fn wrong_keys(&self) -> [&'static str; 2] {
        match &self.server {
            Server::S3(_) => [
                "GKffffffffffffffffffffffff",
                "ffffffffffffffffffffffffffffffff",
            ],
            Server::Azure(_) => [
                "nosuchaccount",
                "ZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmY=",
            ],
        }
    }

    /// Writes the file with the keys.
    pub fn write_login(&self, path: &Path) {
        let [key, secret] = self.keys();
        write_login(path, key, secret);
    }

    /// Ends the server.
    pub fn kill(&mut self) {
        match &mut self.server {
            Server::S3(server) => server.kill(),
            Server::Azure(server) => server.kill(),
        }
    }

    /// Starts the server again, and waits until it accepts connections.
    pub fn restart(&mut self) {
        match &mut self.server {
            Server::S3(server) => server.restart(),
            Server::Azure(server) => server.restart(),
        }
    }

    /// The objects, with their paths in the bucket, sorted. `None`: the server shows no files.
    pub fn files(&self) -> Option<Vec<String>> {
        match &self.server {
            Server::S3(server) if server.has_files() => Some(server.files()),
            Server::S3(_) | Server::Azure(_) => None,
        }
    }

    /// Deletes the objects below a prefix behind the server's back. Returns whether it can do that.
    pub fn clear(&self, prefix: &str) -> bool {
        match &self.server {
            Server::S3(server) if server.has_files() => {
                std::fs::remove_dir_all(server.bucket().join(prefix)).ok();
                true
            }
            Server::S3(_) | Server::Azure(_) => false,
        }
    }
}
