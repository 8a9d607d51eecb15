//! A client of JSON over HTTP: what scripts ask for, and what a load generator sends.
//!
//! It keeps its connections, knows no script, and leaves it to its caller whether to try again.

use std::fmt;

use axum::body::{Body, Bytes};
use axum::http::response::Parts;
use axum::http::{Request, StatusCode, Uri};
use http_body_util::BodyExt;
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use jsmill::HostError;
use serde::de::DeserializeOwned;

/// A pool of connections. Its clones share it.
#[derive(Clone)]
pub struct Client {
    pool: Pool<HttpConnector, Body>,
}

/// An answer, whatever its status.
pub struct Answer {
    /// Status and headers.
    pub head: Parts,
    pub body: Bytes,
}

/// No answer, or one that is of no use.
#[derive(Debug)]
pub struct Trouble(String);

impl Client {
    pub fn new() -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Client { pool: Pool::builder(TokioExecutor::new()).build(connector) }
    }

    /// The value at an address.
    pub async fn get<T: DeserializeOwned>(&self, url: &str) -> Result<T, Trouble> {
        let request = Request::get(url).body(Body::empty()).map_err(|error| Trouble(format!("{url}: {error}")))?;
        let answer = self.send(request).await?;
        if answer.head.status != StatusCode::OK {
            return Err(Trouble(format!("{url}: {}", answer.head.status)));
        }
        answer.json()
    }

    /// Sends a request, and gives the whole answer.
    pub async fn send(&self, request: Request<Body>) -> Result<Answer, Trouble> {
        let url = request.uri().clone();
        let (head, body) = self.pool.request(request).await.map_err(|error| Trouble::chain(&url, &error))?.into_parts();
        let body = body.collect().await.map_err(|error| Trouble::chain(&url, &error))?.to_bytes();
        Ok(Answer { head, body })
    }
}

impl Answer {
    /// The body as a value.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Trouble> {
        serde_json::from_slice(&self.body)
            .map_err(|error| Trouble(format!("the answer is not what it should be: {error}")))
    }
}

impl Trouble {
    /// With the causes of an error: the outermost says little.
    fn chain(url: &Uri, error: &dyn std::error::Error) -> Self {
        let causes = std::iter::successors(Some(error), |error| error.source());
        Trouble(causes.fold(url.to_string(), |text, cause| format!("{text}: {cause}")))
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Trouble {}

/// As a script sees it: an `Error` with the text.
impl From<Trouble> for HostError {
    fn from(trouble: Trouble) -> Self {
        HostError::new(trouble.0)
    }
}
