//! Google Cloud Storage, by the interface that it has in common with S3: `gs://BUCKET/PREFIX`, with HMAC keys.

use super::answer::{ErrorAnswer, Meaning};
use super::endpoint::Endpoint;
use super::s3;
use super::words::Words;

/// Its words.
pub const WORDS: Words = Words {
    scheme: "gs://",
    bucket: "bucket",
    key_id: "access ID of the HMAC key",
    secret: "secret of the HMAC key",
};
/// The region in signatures: Google finds the bucket by its name.
pub const REGION: &str = "auto";
const HOST: &str = "storage.googleapis.com";

/// The endpoint of all buckets.
pub fn endpoint() -> Endpoint {
    Endpoint {
        url: format!("https://{HOST}"),
        host: HOST.to_owned(),
        is_plain: false,
        has_bucket: false,
    }
}

/// The meaning of an answer that refuses a request.
pub fn meaning(answer: &ErrorAnswer) -> Option<Meaning> {
    match answer.code.as_str() {
        "InvalidSecurity" => Some(Meaning::UnknownKey),
        _ => s3::meaning(answer).filter(|meaning| *meaning != Meaning::Region),
    }
}
