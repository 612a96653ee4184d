//! Why an object store gives no answer that can be used, and what the administrator has to change.

use std::io;

/// Bytes of a text of the servers in a message.
const TEXT_SHOWN: usize = 200;

/// A request that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The servers refuse it.
    Refused(ErrorAnswer),
    /// The servers cannot be reached, or the connection broke.
    Unreachable(String),
    /// No answer came in time.
    TimedOut,
    /// An answer that makes no sense, or none that could be sent.
    Other(String),
}

/// An answer that refuses a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The code of the error, such as `NoSuchKey`; empty if the answer is none of S3.
    pub code: String,
    /// The text for people.
    pub message: String,
}

impl ErrorAnswer {
    /// Reads an answer: the status and the beginning of the body.
    pub fn of(status: u16, body: &[u8]) -> ErrorAnswer {
        let body = String::from_utf8_lossy(body);
        let element = |name: &str| {
            let (_, rest) = body.split_once(&format!("<{name}>"))?;
            let (text, _) = rest.split_once(&format!("</{name}>"))?;
            Some(shown(text))
        };
        ErrorAnswer {
            status,
            code: element("Code").unwrap_or_default(),
            message: element("Message").unwrap_or_default(),
        }
    }

    /// The object does not exist.
    pub fn is_missing(&self) -> bool {
        self.status == 404 && self.code == "NoSuchKey"
    }

    /// The object ends before the bytes that were asked for.
    pub fn is_short(&self) -> bool {
        self.status == 416
    }
}

/// Text of another machine, for a message.
pub fn shown(text: &str) -> String {
    let clean = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let text: String = clean.take(TEXT_SHOWN).collect();
    text.trim().to_owned()
}

/// What a message about a fault names.
#[derive(Debug, Clone)]
pub struct Names {
    /// The bucket.
    pub bucket: String,
    /// The URL of the servers.
    pub endpoint: String,
    /// The region.
    pub region: String,
    /// The file with the keys.
    pub login: String,
}

impl Names {
    /// The error of a request. It names the setting, or the file, that is at fault.
    pub fn error(&self, fault: Fault) -> io::Error {
        let Names {
            bucket, endpoint, ..
        } = self;
        let (kind, what) = match fault {
            Fault::Refused(answer) => return self.refused(&answer),
            Fault::Unreachable(why) => (
                io::ErrorKind::NotConnected,
                format!("offload.endpoint: cannot reach {endpoint}: {why}"),
            ),
            Fault::TimedOut => (
                io::ErrorKind::TimedOut,
                format!("offload.endpoint: {endpoint} does not answer in time"),
            ),
            Fault::Other(why) => (
                io::ErrorKind::InvalidData,
                format!("bucket {bucket} at {endpoint}: {why}"),
            ),
        };
        io::Error::new(kind, what)
    }

    fn refused(&self, answer: &ErrorAnswer) -> io::Error {
        use io::ErrorKind::{
            InvalidData, NotConnected, NotFound, PermissionDenied, StorageFull, UnexpectedEof,
        };
        let Names {
            bucket,
            endpoint,
            region,
            login,
        } = self;
        let (kind, what) = match (answer.code.as_str(), answer.status) {
            _ if answer.is_missing() => (NotFound, "there is no such object".to_owned()),
            _ if answer.is_short() => (UnexpectedEof, "the object is shorter".to_owned()),
            ("NoSuchBucket", _) => (
                NotConnected,
                format!("offload.url: there is no bucket {bucket} at {endpoint}"),
            ),
            ("InvalidAccessKeyId" | "InvalidClientTokenId" | "XAdminUserNotFound", _) => (
                PermissionDenied,
                format!("{login}: {endpoint} does not know the access key in its first line"),
            ),
            ("SignatureDoesNotMatch", _) => (
                PermissionDenied,
                format!("{login}: the secret key in its second line is not that of the access key"),
            ),
            ("RequestTimeTooSkewed" | "RequestExpired", _) => (
                PermissionDenied,
                format!("the clocks of this machine and of {endpoint} differ: set this one by NTP"),
            ),
            (
                "AuthorizationHeaderMalformed"
                | "IllegalLocationConstraintException"
                | "PermanentRedirect"
                | "TemporaryRedirect"
                | "InvalidRegion",
                _,
            )
            | (_, 300..=399) => (
                NotConnected,
                format!("offload.region: \"{region}\" is not the region of bucket {bucket}"),
            ),
            ("", status) => (
                InvalidData,
                format!(
                    "offload.endpoint: {endpoint} answers {status}, and not as an object store does"
                ),
            ),
            (_, 401 | 403) => (
                PermissionDenied,
                format!("{login}: {endpoint} does not let this key use bucket {bucket}"),
            ),
            ("QuotaExceeded" | "XMinioStorageFull", _) | (_, 507) => (
                StorageFull,
                format!("bucket {bucket} at {endpoint} is full"),
            ),
            (code, status) => (
                NotConnected,
                format!("bucket {bucket} at {endpoint}: {status} {code}"),
            ),
        };
        let what = match answer.message.as_str() {
            "" => what,
            message => format!("{what} (\"{message}\")"),
        };
        io::Error::new(kind, what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(status: u16, body: &str) -> io::Error {
        let names = Names {
            bucket: "articles".to_owned(),
            endpoint: "https://s3.example.org".to_owned(),
            region: "garage".to_owned(),
            login: "/news/keys/offload.login".to_owned(),
        };
        names.error(Fault::Refused(ErrorAnswer::of(status, body.as_bytes())))
    }

    #[test]
    fn each_refusal_names_what_to_change() {
        let xml = |code: &str| {
            format!(
                "<?xml version=\"1.0\"?>\n<Error><Code>{code}</Code><Message>No\nway</Message></Error>"
            )
        };
        for (status, code, part) in [
            (
                404,
                "NoSuchBucket",
                "offload.url: there is no bucket articles",
            ),
            (403, "InvalidAccessKeyId", "offload.login: "),
            (
                403,
                "SignatureDoesNotMatch",
                "secret key in its second line",
            ),
            (403, "RequestTimeTooSkewed", "set this one by NTP"),
            (
                400,
                "AuthorizationHeaderMalformed",
                "offload.region: \"garage\"",
            ),
            (301, "PermanentRedirect", "offload.region: \"garage\""),
            (
                403,
                "AccessDenied",
                "does not let this key use bucket articles",
            ),
            (507, "InsufficientStorage", "is full"),
            (503, "SlowDown", "503 SlowDown"),
        ] {
            let error = told(status, &xml(code)).to_string();
            assert!(
                error.contains(part) && error.ends_with("(\"No way\")"),
                "{error}"
            );
        }
    }

    #[test]
    fn only_an_object_store_can_say_that_an_object_is_missing() {
        let missing = told(404, "<Error><Code>NoSuchKey</Code></Error>");
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        for other in [
            "<html>Not found</html>",
            "",
            "<Error><Code>NoSuchBucket</Code></Error>",
        ] {
            let error = told(404, other);
            assert_ne!(error.kind(), io::ErrorKind::NotFound);
            assert_ne!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
    }

    #[test]
    fn texts_of_the_servers_are_short_and_have_no_control_characters() {
        let long = format!("<Code>{}\u{1b}[2J</Code>", "x".repeat(1000));
        assert_eq!(ErrorAnswer::of(500, long.as_bytes()).code.len(), TEXT_SHOWN);
        assert_eq!(shown("a\u{1b}[2J\r\nb"), "a [2J  b");
    }
}
