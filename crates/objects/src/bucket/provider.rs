//! The services that have buckets, and the differences between them: each has a file of its own.

use std::io;

use super::answer::{ErrorAnswer, Meaning};
use super::client::{Access, Client};
use super::endpoint::{Endpoint, IsPath};
use super::login::Login;
use super::words::Words;
use super::{azure, google, s3};

/// A service that has buckets, or a protocol that many speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Amazon S3, and stores with the same protocol.
    S3,
    /// Google Cloud Storage.
    Google,
    /// Azure Blob Storage.
    Azure,
}

impl Provider {
    /// All of them.
    pub const ALL: [Provider; 3] = [Provider::S3, Provider::Google, Provider::Azure];

    /// Its words.
    pub fn words(self) -> &'static Words {
        match self {
            Provider::S3 => &s3::WORDS,
            Provider::Google => &google::WORDS,
            Provider::Azure => &azure::WORDS,
        }
    }

    /// The fault of the name of a bucket, as the rest of a sentence that begins with the setting's name.
    pub fn fault_of_bucket(self, name: &str) -> Option<String> {
        match self {
            Provider::S3 | Provider::Google => s3::fault_of_bucket(self.words(), name),
            Provider::Azure => azure::fault_of_container(name),
        }
    }

    /// The fault of a region; there is none where regions do not matter.
    pub fn fault_of_region(self, region: &str) -> Option<String> {
        match self {
            Provider::S3 => s3::fault_of_region(region),
            Provider::Google | Provider::Azure => None,
        }
    }

    /// The region in signatures.
    pub fn region(self, setting: &str) -> &str {
        match self {
            Provider::S3 => setting,
            Provider::Google => google::REGION,
            Provider::Azure => "",
        }
    }

    /// The paths in which an endpoint may end: of Azure the name of an account.
    pub fn path_of_endpoint(self) -> Option<IsPath> {
        match self {
            Provider::S3 | Provider::Google => None,
            Provider::Azure => Some(azure::is_account),
        }
    }

    /// The fault of the keys, as the rest of a sentence, where a look at them tells it.
    pub fn fault_of_login(self, login: &Login) -> Option<&'static str> {
        match self {
            Provider::S3 | Provider::Google => None,
            Provider::Azure => azure::fault_of_login(login),
        }
    }

    /// The endpoint of a bucket for which none is set.
    pub fn default_endpoint(self, bucket: &str, region: &str, login: &Login) -> Endpoint {
        match self {
            Provider::S3 => s3::endpoint(bucket, region),
            Provider::Google => google::endpoint(),
            Provider::Azure => azure::endpoint(login),
        }
    }

    /// The client of a bucket.
    ///
    /// # Errors
    /// The settings, or the keys, cannot be used; the error names them.
    pub fn client(self, access: Access<'_>) -> io::Result<Client> {
        match self {
            Provider::S3 | Provider::Google => s3::client(access),
            Provider::Azure => azure::client(access),
        }
    }

    /// The meaning of an answer that refuses a request, if its code tells.
    pub fn meaning(self, answer: &ErrorAnswer) -> Option<Meaning> {
        match self {
            Provider::S3 => s3::meaning(answer),
            Provider::Google => google::meaning(answer),
            Provider::Azure => azure::meaning(answer),
        }
    }
}
