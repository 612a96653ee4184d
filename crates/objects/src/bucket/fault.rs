//! Why an object store gives no answer that can be used, and what the administrator has to change.

use std::io;

use super::answer::{ErrorAnswer, Fault, Meaning};
use super::provider::Provider;
use super::words::Words;

/// The names in a message about a fault.
#[derive(Debug, Clone)]
pub struct Names {
    /// The service.
    pub provider: Provider,
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
        let noun = self.provider.words().bucket;
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
                format!("{noun} {bucket} at {endpoint}: {why}"),
            ),
        };
        io::Error::new(kind, what)
    }

    fn refused(&self, answer: &ErrorAnswer) -> io::Error {
        use io::ErrorKind::{
            InvalidData, NotConnected, NotFound, PermissionDenied, ResourceBusy, StorageFull,
            UnexpectedEof,
        };
        let Names {
            provider,
            bucket,
            endpoint,
            region,
            login,
        } = self;
        let Words {
            bucket: noun,
            key_id,
            secret,
            ..
        } = provider.words();
        let meaning = provider.meaning(answer).or(match answer.status {
            _ if answer.code.is_empty() => None,
            401 | 403 => Some(Meaning::Denied),
            507 => Some(Meaning::Full),
            _ => None,
        });
        let (kind, what) = match meaning {
            Some(Meaning::Missing) => (NotFound, "there is no such object".to_owned()),
            _ if answer.is_short() => (UnexpectedEof, "the object is shorter".to_owned()),
            Some(Meaning::Archived) => {
                let class = match answer.storage_class.as_str() {
                    "" => "an archive class of storage".to_owned(),
                    class => format!("the storage class {class}"),
                };
                let what = format!(
                    "the object has {class}, and cannot be read: restore it in the {noun}, and keep the rules of the {noun} from archiving objects"
                );
                (ResourceBusy, what)
            }
            Some(Meaning::NoBucket) => (
                NotConnected,
                format!("offload.url: there is no {noun} {bucket} at {endpoint}"),
            ),
            Some(Meaning::UnknownKey) => (
                PermissionDenied,
                format!("{login}: {endpoint} does not know the {key_id} in its first line"),
            ),
            Some(Meaning::WrongSecret) => (
                PermissionDenied,
                format!(
                    "{login}: the {secret} in its second line does not fit the {key_id} in its first"
                ),
            ),
            Some(Meaning::Clock) => (
                PermissionDenied,
                format!("the clocks of this machine and of {endpoint} differ: set this one by NTP"),
            ),
            Some(Meaning::Region) => (
                NotConnected,
                format!("offload.region: \"{region}\" is not the region of {noun} {bucket}"),
            ),
            Some(Meaning::Denied) => (
                PermissionDenied,
                format!("{login}: {endpoint} does not let this key use {noun} {bucket}"),
            ),
            Some(Meaning::Full) => (
                StorageFull,
                format!("{noun} {bucket} at {endpoint} is full"),
            ),
            None if answer.code.is_empty() => (
                InvalidData,
                format!(
                    "offload.endpoint: {endpoint} answers {}, and not as an object store does",
                    answer.status
                ),
            ),
            None => (
                NotConnected,
                format!(
                    "{noun} {bucket} at {endpoint}: {} {}",
                    answer.status, answer.code
                ),
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

    fn told_by(provider: Provider, status: u16, code: &str, body: &str) -> io::Error {
        let names = Names {
            provider,
            bucket: "articles".to_owned(),
            endpoint: "https://s3.example.org".to_owned(),
            region: "garage".to_owned(),
            login: "/news/keys/offload.login".to_owned(),
        };
        let answer = ErrorAnswer::of(status, code, body.as_bytes());
        names.error(Fault::Refused(answer))
    }

    fn told(status: u16, body: &str) -> io::Error {
        told_by(Provider::S3, status, "", body)
    }

    fn xml(code: &str) -> String {
        format!(
            "<?xml version=\"1.0\"?>\n<Error><Code>{code}</Code><Message>No\nway</Message></Error>"
        )
    }

    #[test]
    fn each_refusal_names_what_to_change() {
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
    fn the_codes_of_google_and_azure_name_what_to_change() {
        for (provider, status, code, part) in [
            (
                Provider::Google,
                403,
                "InvalidSecurity",
                "does not know the access ID of the HMAC key in its first line",
            ),
            (
                Provider::Google,
                403,
                "SignatureDoesNotMatch",
                "the secret of the HMAC key in its second line does not fit",
            ),
            (
                Provider::Google,
                404,
                "NoSuchBucket",
                "offload.url: there is no bucket articles",
            ),
            // It has no regions that a setting could name.
            (
                Provider::Google,
                301,
                "PermanentRedirect",
                "bucket articles at https://s3.example.org: 301 PermanentRedirect",
            ),
            (
                Provider::Azure,
                404,
                "ContainerNotFound",
                "offload.url: there is no container articles",
            ),
            (
                Provider::Azure,
                403,
                "AuthenticationFailed",
                "the access key of the account in its second line does not fit",
            ),
            (
                Provider::Azure,
                400,
                "InvalidAuthenticationInfo",
                "does not let this key use container articles",
            ),
            (
                Provider::Azure,
                403,
                "AccountIsDisabled",
                "does not let this key use container articles",
            ),
            (Provider::Azure, 503, "ServerBusy", "503 ServerBusy"),
            (
                Provider::Azure,
                409,
                "BlobImmutableDueToPolicy",
                "409 BlobImmutableDueToPolicy",
            ),
        ] {
            let error = told_by(provider, status, "", &xml(code));
            assert_ne!(error.kind(), io::ErrorKind::NotFound);
            let error = error.to_string();
            assert!(
                error.contains(part) && error.ends_with("(\"No way\")"),
                "{error}"
            );
        }
        // Azure has the code in a header, too.
        let error = told_by(Provider::Azure, 404, "ContainerNotFound", "");
        assert!(error.to_string().contains("there is no container"));
    }

    #[test]
    fn an_object_is_missing_by_the_code_of_its_provider_alone() {
        let codes = [
            (Provider::S3, "NoSuchKey"),
            (Provider::Google, "NoSuchKey"),
            (Provider::Azure, "BlobNotFound"),
        ];
        for provider in Provider::ALL {
            for (of, code) in codes {
                let is_missing =
                    (provider == of) || (code == "NoSuchKey" && provider != Provider::Azure);
                let kind = told_by(provider, 404, "", &xml(code)).kind();
                assert_eq!(kind == io::ErrorKind::NotFound, is_missing);
                let kind = told_by(provider, 403, "", &xml(code)).kind();
                assert_ne!(kind, io::ErrorKind::NotFound);
            }
        }
    }

    #[test]
    fn an_archived_object_names_its_storage_class() {
        let body = "<Error><Code>InvalidObjectState</Code><Message>No</Message><StorageClass>GLACIER</StorageClass></Error>";
        let error = told(403, body);
        assert_eq!(error.kind(), io::ErrorKind::ResourceBusy);
        let error = error.to_string();
        assert!(error.contains("storage class GLACIER"), "{error}");
        assert!(!error.contains("offload.login"), "{error}");
        let error = told_by(Provider::Azure, 409, "BlobArchived", "").to_string();
        assert!(error.contains("an archive class of storage"), "{error}");
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
}
