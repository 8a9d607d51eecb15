//! What the command line says.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use crate::app::Settings;

pub const USAGE: &str = "\
usage: service [--self-test] [--plot FILE]
           the service under its own load on the loopback interface, for some seconds; the default
       service serve [--listen ADDRESS] [--stock ADDRESS] [--rates ADDRESS] [--scripts FOLDER]
           the service until it is interrupted; by default on 127.0.0.1:8080, with its upstream services on 8081 and 8082";

pub enum Mode {
    SelfTest { plot: PathBuf },
    Serve(Settings),
    Help,
}

/// # Errors
/// A text that says what is wrong with the arguments.
pub fn parse(mut args: impl Iterator<Item = String>) -> Result<Mode, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let local = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut plot = root.join("target/service.svg");
    let mut settings = Settings {
        listen: local(8080),
        stock: local(8081),
        rates: local(8082),
        scripts: root.join("examples/service/scripts"),
    };
    let mut serve = false;
    let mut first = true;
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("`{arg}` wants a value"));
        match arg.as_str() {
            "--help" | "-h" => return Ok(Mode::Help),
            "--self-test" if !serve => {}
            "--plot" if !serve => plot = value()?.into(),
            "serve" if first => serve = true,
            "--listen" if serve => settings.listen = address(&value()?)?,
            "--stock" if serve => settings.stock = address(&value()?)?,
            "--rates" if serve => settings.rates = address(&value()?)?,
            "--scripts" if serve => settings.scripts = value()?.into(),
            other => return Err(format!("`{other}` is not understood here")),
        }
        first = false;
    }
    Ok(if serve { Mode::Serve(settings) } else { Mode::SelfTest { plot } })
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| format!("`{text}` is no address; write it as 127.0.0.1:8080"))
}
