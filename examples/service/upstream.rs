//! The two services that scripts ask, stock and rates: the servers, which are part of this program, and the way to them.
//!
//! They answer after some milliseconds, and fail now and then. They know nothing of scripts.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::Path;
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use jsmill::HostError;
use serde::Deserialize;
use tokio::net::TcpListener;

use crate::client::Client;

/// One request of so many fails.
const FAILS: u64 = 20;
/// The shortest time of an answer, and how much longer it may take.
const LATENCY: Duration = Duration::from_millis(3);
const JITTER: u64 = 5;

/// What a script wants to know.
#[derive(Deserialize)]
pub struct Ask {
    pub service: String,
    pub key: u32,
}

/// The way to both services.
#[derive(Clone)]
pub struct Upstreams {
    client: Client,
    stock: String,
    rates: String,
}

impl Upstreams {
    /// Serves both, and gives the way to them.
    pub async fn serve(stock: SocketAddr, rates: SocketAddr) -> std::io::Result<Self> {
        let (stock, rates) = (listen(stock, self::stock).await?, listen(rates, rate).await?);
        Ok(Upstreams { client: Client::new(), stock: format!("http://{stock}"), rates: format!("http://{rates}") })
    }

    /// Asks once. Which services there are is decided here, not by the script.
    pub async fn ask(&self, ask: Ask) -> Result<f64, HostError> {
        let root = match ask.service.as_str() {
            "stock" => &self.stock,
            "rates" => &self.rates,
            other => return Err(HostError::new(format!("there is no service `{other}`; ask `stock` or `rates`"))),
        };
        Ok(self.client.get(&format!("{root}/{}", ask.key)).await?)
    }
}

/// How much there is of an item.
pub fn stock(item: u32) -> f64 {
    f64::from(item * 13 % 29 + 5)
}

/// The rate of a zone.
pub fn rate(zone: u32) -> f64 {
    1.0 + f64::from(zone % 7) / 8.0
}

async fn listen(address: SocketAddr, value: fn(u32) -> f64) -> std::io::Result<SocketAddr> {
    let asked = Arc::new(AtomicU64::new(0));
    let answer = move |Path(key): Path<u32>| {
        let chance = mix(asked.fetch_add(1, Ordering::Relaxed));
        async move {
            tokio::time::sleep(LATENCY + Duration::from_millis(chance % JITTER)).await;
            if (chance >> 32).is_multiple_of(FAILS) { Err(StatusCode::BAD_GATEWAY) } else { Ok(Json(value(key))) }
        }
    };
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, Router::new().route("/{key}", get(answer))).await {
            eprintln!("the upstream service at {address} has ended: {error}");
        }
    });
    Ok(address)
}

/// Scatters a counter: the finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
pub fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
