//! The server that the scripts ask: prices and stock of articles, each after some milliseconds.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use axum::extract::Path;
use axum::routing::get;
use axum::{Json, Router};
use tokio::net::TcpListener;

/// What an article costs.
pub fn price(article: u32) -> f64 {
    f64::from(article % 90 + 10) / 4.0
}

/// How much of it is left.
pub fn stock(article: u32) -> u32 {
    article * 7 % 31
}

/// Serves on a free port of the loopback interface until the runtime ends. Gives the address.
pub async fn serve(latency: Duration) -> std::io::Result<SocketAddr> {
    let price = move |Path(article): Path<u32>| async move {
        tokio::time::sleep(latency).await;
        Json(price(article))
    };
    let stock = move |Path(article): Path<u32>| async move {
        tokio::time::sleep(latency).await;
        Json(stock(article))
    };
    let routes = Router::new().route("/price/{article}", get(price)).route("/stock/{article}", get(stock));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, routes).await {
            eprintln!("the catalogue has ended: {error}");
        }
    });
    Ok(address)
}
