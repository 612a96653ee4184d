//! HTTP to the servers of an object store: one request after the other on a few connections, with limits on time and on the size of answers.

use std::pin::Pin;
use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use layers::trust::certificate_fault;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector as Connector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
    HttpResponse, HttpResponseBody, HttpService,
};
use rustls::ClientConfig;

use super::answer::{ErrorAnswer, Fault, shown};
use super::requests::{innermost, note};

/// Time to connect.
const CONNECT: Duration = Duration::from_secs(4);
/// Time from the last byte of a request to the first one of its answer.
const ANSWER: Duration = Duration::from_secs(20);
/// The same where the servers may have to put parts together.
const ASSEMBLY: Duration = Duration::from_secs(120);
/// The slowest rate at which a request may go out, bytes a second.
pub const SLOWEST: u64 = 64 << 10;
/// Time after which an unused connection is closed: then the thread sleeps.
const IDLE: Duration = Duration::from_secs(20);
/// Unused connections that are kept.
const IDLE_CONNECTIONS: usize = 4;
/// Bytes of an answer that is no article: an error, or the confirmation of an upload.
pub const ANSWER_BYTES_MAX: usize = 64 << 10;

/// The header in which Azure repeats the code of an error.
const CODE: &str = "x-ms-error-code";

/// The client. Without TLS settings requests go in the clear.
#[derive(Debug, Clone)]
pub struct Http(Client<HttpsConnector<HttpConnector>, HttpRequestBody>);

impl Http {
    /// A client that trusts servers by `tls`; a plain one does not use it.
    pub fn new(tls: ClientConfig, is_plain: bool) -> Http {
        let mut tcp = HttpConnector::new();
        tcp.set_connect_timeout(Some(CONNECT));
        tcp.set_nodelay(true);
        tcp.enforce_http(false);
        let builder = HttpsConnectorBuilder::new().with_tls_config(tls);
        let builder = if is_plain {
            builder.https_or_http()
        } else {
            builder.https_only()
        };
        let connector = builder.enable_http1().wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(IDLE_CONNECTIONS)
            .build(connector);
        Http(client)
    }

    /// Makes one request, and notes its fault.
    ///
    /// # Errors
    /// No answer came.
    pub async fn answer(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let out = request.body().content_length() as u64;
        let is_read = request.method().as_str() == "GET";
        let limit = if is_end_of_upload(&request) {
            ASSEMBLY
        } else {
            ANSWER
        };
        let limit = limit + Duration::from_secs(out / SLOWEST);
        let answer = match tokio::time::timeout(limit, self.0.request(request)).await {
            Err(late) => {
                note(Some(Fault::TimedOut));
                return Err(HttpError::new(HttpErrorKind::Timeout, late));
            }
            Ok(Err(error)) => {
                note(Some(Fault::Unreachable(cause(&error))));
                return Err(HttpError::new(kind_of(&error), error));
            }
            Ok(Ok(answer)) => answer,
        };
        let (parts, body) = answer.into_parts();
        let is_done = parts.status.is_success();
        if is_read && is_done {
            note(None);
            let body = HttpResponseBody::new(body.map_err(|error| {
                let why = shown(&innermost(&error).to_string());
                note(Some(Fault::Unreachable(why)));
                HttpError::new(HttpErrorKind::Interrupted, error)
            }));
            return Ok(HttpResponse::from_parts(parts, body));
        }
        let whole = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
        let bytes = whole.map(|whole| whole.to_bytes()).unwrap_or_default();
        note((!is_done).then(|| {
            let code = parts.headers.get(CODE).and_then(|code| code.to_str().ok());
            let status = parts.status.as_u16();
            Fault::Refused(ErrorAnswer::of(status, code.unwrap_or_default(), &bytes))
        }));
        Ok(HttpResponse::from_parts(parts, bytes.into()))
    }
}

/// Whether the servers have to put the parts of an upload together: S3 is asked by POST, Azure by the list of the blocks.
fn is_end_of_upload(request: &HttpRequest) -> bool {
    let query = request.uri().query().unwrap_or_default();
    request.method().as_str() == "POST" || query.split('&').any(|part| part == "comp=blocklist")
}

impl HttpService for Http {
    fn call<'s, 'f>(
        &'s self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'f>>
    where
        's: 'f,
        Self: 'f,
    {
        Box::pin(self.answer(request))
    }
}

impl Connector for Http {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

/// Whether the request may be repeated.
fn kind_of(error: &Error) -> HttpErrorKind {
    if error.is_connect() {
        HttpErrorKind::Connect
    } else {
        HttpErrorKind::Interrupted
    }
}

/// The words for a connection that failed.
fn cause(error: &Error) -> String {
    let inner = innermost(error);
    let tls = inner.downcast_ref::<rustls::Error>();
    tls.and_then(certificate_fault)
        .unwrap_or_else(|| shown(&inner.to_string()))
}
