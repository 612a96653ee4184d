//! Azure Blob Storage: `az://CONTAINER/PREFIX`, with the access key of a storage account.

use std::io;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::{Duration, Instant};

use object_store::azure::{
    AzureAccessKey, AzureAuthorizer, AzureCredential, MicrosoftAzureBuilder,
};
use object_store::client::{HttpErrorKind, HttpRequest, HttpRequestBody};
use object_store::path::Path;

use super::answer::{ErrorAnswer, Meaning};
use super::client::{Access, Client, Delete, Pending};
use super::endpoint::Endpoint;
use super::http::Http;
use super::login::Login;
use super::words::Words;
use super::{PAUSES, RETRIES, RETRY_UNTIL, other};

/// Its words.
pub const WORDS: Words = Words {
    scheme: "az://",
    bucket: "container",
    key_id: "name of the storage account",
    secret: "access key of the account",
};
/// Length of the name of a container, bytes.
const CONTAINER_BYTES: RangeInclusive<usize> = 3..=63;
/// Length of the name of an account, bytes.
const ACCOUNT_BYTES: RangeInclusive<usize> = 3..=24;

/// The fault of the name of a container, as the rest of a sentence that begins with the setting's name.
pub fn fault_of_container(name: &str) -> Option<String> {
    let is_word = |word: &str| {
        let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        !word.is_empty() && word.chars().all(is_part)
    };
    let is_right = CONTAINER_BYTES.contains(&name.len()) && name.split('-').all(is_word);
    (!is_right).then(|| {
        format!(
            "needs the name of a container, 3 to 63 small letters, digits and single `-': az://news-articles/PREFIX, not `{name}'"
        )
    })
}

/// Whether a text can be the name of an account.
pub fn is_account(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    ACCOUNT_BYTES.contains(&name.len()) && name.chars().all(is_part)
}

/// The fault of the keys, as the rest of a sentence.
pub fn fault_of_login(login: &Login) -> Option<&'static str> {
    if !is_account(&login.key_id) {
        return Some(
            "the name of the storage account, in the first line, has 3 to 24 small letters and digits",
        );
    }
    let key = AzureAccessKey::try_new(&login.secret);
    key.is_err()
        .then_some("the access key of the account, in the second line, is not base64")
}

/// The endpoint of an account in the public cloud.
pub fn endpoint(login: &Login) -> Endpoint {
    let host = format!("{}.blob.core.windows.net", login.key_id);
    Endpoint {
        url: format!("https://{host}"),
        host,
        is_plain: false,
        has_bucket: false,
    }
}

/// The client of a container.
///
/// # Errors
/// The settings, or the keys, cannot be used; the error names them.
pub fn client(access: Access<'_>) -> io::Result<Client> {
    let account = access.login.key_id.as_str();
    let key = AzureAccessKey::try_new(&access.login.secret);
    let key = key.map_err(|error| access.wrong_url(&error))?;
    let store = MicrosoftAzureBuilder::new()
        .with_account(account)
        .with_access_key(&access.login.secret)
        .with_container_name(access.bucket)
        .with_endpoint(access.endpoint.url.clone())
        .with_retry(access.retry.clone())
        .with_http_connector(access.http.clone())
        .build()
        .map_err(|error| access.wrong_url(&error))?;
    let store = Arc::new(store);
    Ok(Client {
        objects: store.clone(),
        uploads: store,
        deletions: Arc::new(Deletions {
            container: format!("{}/{}", access.endpoint.url, access.bucket),
            account: account.into(),
            credential: Arc::new(AzureCredential::AccessKey(key)),
            http: access.http.clone(),
        }),
    })
}

/// Deletes by one request an object. `object_store` sends a batch of deletions, which some accounts refuse, and whose answer has the results
/// inside.
struct Deletions {
    /// The URL of the container.
    container: String,
    account: Arc<str>,
    credential: Arc<AzureCredential>,
    http: Http,
}

impl Delete for Deletions {
    fn delete(&self, path: Path) -> Pending {
        // The names of objects have no character that a URL does not have.
        let url = format!("{}/{path}", self.container);
        let (http, account) = (self.http.clone(), self.account.clone());
        let credential = self.credential.clone();
        Box::pin(async move {
            let mut pauses = PAUSES.into_iter();
            let began = Instant::now();
            for left in (0..=RETRIES).rev() {
                let mut request = HttpRequest::new(HttpRequestBody::empty());
                *request.method_mut() = "DELETE".parse().map_err(other)?;
                *request.uri_mut() = url.parse().map_err(other)?;
                AzureAuthorizer::new(&credential, &account).try_authorize(&mut request)?;
                let is_repeated = match http.answer(request).await {
                    Ok(answer) if answer.status().is_success() => return Ok(()),
                    Ok(answer) => answer.status().is_server_error() || answer.status() == 429,
                    Err(error) => error.kind() != HttpErrorKind::Timeout,
                };
                if left == 0 || !is_repeated || began.elapsed() > RETRY_UNTIL {
                    break;
                }
                tokio::time::sleep(pauses.next().unwrap_or(Duration::ZERO)).await;
            }
            // The fault was noted.
            Err(other("the object was not deleted"))
        })
    }
}

/// The meaning of an answer that refuses a request.
pub fn meaning(answer: &ErrorAnswer) -> Option<Meaning> {
    Some(match (answer.code.as_str(), answer.status) {
        ("BlobNotFound", 404) => Meaning::Missing,
        ("BlobArchived" | "BlobBeingRehydrated", _) => Meaning::Archived,
        ("ContainerNotFound", _) => Meaning::NoBucket,
        ("AuthenticationFailed", _) if answer.detail.contains("date header too old") => {
            Meaning::Clock
        }
        ("AuthenticationFailed", _) => Meaning::WrongSecret,
        ("InvalidAuthenticationInfo", _) => Meaning::Denied,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_azure_has_are_taken() {
        for good in ["abc", "news-articles", "1-2"] {
            assert_eq!(fault_of_container(good), None);
        }
        for bad in ["", "ab", "News", "a--b", "-ab", "ab-", "a.b", "a_b"] {
            assert!(fault_of_container(bad).is_some(), "{bad}");
        }
        assert!(is_account("devstoreaccount1"));
        for bad in ["", "ab", "A12", "a.b", "a-b", "a/b"] {
            assert!(!is_account(bad), "{bad}");
        }
    }

    #[test]
    fn a_clock_that_is_wrong_is_no_wrong_key() {
        let answer = |detail: &str| {
            let body = format!(
                "<Error><Code>AuthenticationFailed</Code><Message>No</Message><AuthenticationErrorDetail>{detail}</AuthenticationErrorDetail></Error>"
            );
            ErrorAnswer::of(403, "", body.as_bytes())
        };
        let old = answer("Request date header too old: 'Mon, 23 Nov 2026 14:52:17 GMT'");
        assert_eq!(meaning(&old), Some(Meaning::Clock));
        let wrong = answer("The MAC signature found in the HTTP request is not the same");
        assert_eq!(meaning(&wrong), Some(Meaning::WrongSecret));
    }
}
