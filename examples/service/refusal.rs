//! What a client gets in place of a result: a status, the kind of the error, and a text.
//!
//! | status | when |
//! | --- | --- |
//! | 400 | the request asks for a priority that there is not |
//! | 503 with `Retry-After` | nothing of it was done, for want of room or time: it may be sent again |
//! | 500 | the script failed, or ran into a limit: `kind` says which |

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use jsmill::{Error, ErrorKind};
use serde::{Deserialize, Serialize};

/// Seconds after which a refused client may come back.
const RETRY_AFTER: &str = "1";

/// An answer without a result.
pub struct Refusal {
    status: StatusCode,
    body: Body,
}

/// Its body.
#[derive(Serialize, Deserialize)]
pub struct Body {
    /// The name of the engine's error kind, or `Busy` and `Priority` of the service itself.
    pub kind: String,
    pub error: String,
}

impl Refusal {
    pub fn busy() -> Self {
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "Busy", "as many requests are under way as may be; try again")
    }

    pub fn priority() -> Self {
        Refusal::new(StatusCode::BAD_REQUEST, "Priority", "`x-priority` is `critical`, `normal` or `background`")
    }

    /// What an error of the engine means to a client.
    pub fn of(error: &Error) -> Self {
        let later = error.is_retryable() || matches!(error.kind(), ErrorKind::ShuttingDown);
        let status = if later { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::INTERNAL_SERVER_ERROR };
        Refusal::new(status, &name(error.kind()), &error.to_string())
    }

    fn new(status: StatusCode, kind: &str, error: &str) -> Self {
        Refusal { status, body: Body { kind: kind.to_owned(), error: error.to_owned() } }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body)).into_response();
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static(RETRY_AFTER));
        }
        response
    }
}

/// The name of a kind: what its `Debug` text begins with.
fn name(kind: &ErrorKind) -> String {
    format!("{kind:?}").chars().take_while(|letter| letter.is_alphanumeric()).collect()
}
