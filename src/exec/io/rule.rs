//! Addresses that a script may use, as the embedder writes them.

use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// Hosts and ports: `127.0.0.1:8080`, `[::1]:*`, `example.org:443`, `*:443`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    host: Host,
    /// `None` for any.
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    Any,
    Ip(IpAddr),
    /// In lower case.
    Name(String),
}

/// An address that a script asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    host: Host,
    pub(super) port: u16,
}

impl Target {
    /// The host, as a resolver wants it.
    pub(super) fn host(&self) -> String {
        match &self.host {
            Host::Ip(ip) => ip.to_string(),
            Host::Name(name) => name.clone(),
            Host::Any => String::new(),
        }
    }

    /// The address, where no resolver is needed.
    pub(super) fn ip(&self) -> Option<IpAddr> {
        if let Host::Ip(ip) = self.host { Some(ip) } else { None }
    }
}

impl Rule {
    /// Whether a connection may go there. A name is compared as it is written: it is the resolver that says what it stands for.
    pub(super) fn covers(&self, target: &Target) -> bool {
        let host = self.host == Host::Any || self.host == target.host;
        host && self.port.is_none_or(|port| port == target.port)
    }

    /// Whether a socket may listen there. The unspecified address covers all of its family, and port 0 every port.
    pub(super) fn covers_listening(&self, target: &Target) -> bool {
        let host = match (&self.host, target.ip()) {
            (Host::Any, _) => true,
            (Host::Ip(granted), Some(wanted)) => {
                *granted == wanted || (granted.is_unspecified() && granted.is_ipv4() == wanted.is_ipv4())
            }
            _ => false,
        };
        host && self.port.is_none_or(|port| port == 0 || port == target.port)
    }

    /// Whether a socket can listen at such a host.
    pub(super) fn is_local(&self) -> bool {
        !matches!(self.host, Host::Name(_))
    }
}

fn split(text: &str) -> Option<(Host, &str)> {
    let (host, port) = text.rsplit_once(':')?;
    if let Some(inner) = host.strip_prefix('[') {
        let ip: Ipv6Addr = inner.strip_suffix(']')?.parse().ok()?;
        return Some((Host::Ip(ip.into()), port));
    }
    if let Ok(ip) = host.parse::<IpAddr>() {
        // One of IPv6 without brackets does not say where the port begins.
        return if ip.is_ipv4() { Some((Host::Ip(ip), port)) } else { None };
    }
    let name =
        !host.is_empty() && host.len() <= 253 && host.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
    if host == "*" {
        Some((Host::Any, port))
    } else if name {
        Some((Host::Name(host.to_ascii_lowercase()), port))
    } else {
        None
    }
}

/// Digits alone: the parser of the standard library takes a sign as well.
fn port(text: &str) -> Option<u16> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

impl FromStr for Rule {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (host, given) = split(text).ok_or(())?;
        let port = if given == "*" { None } else { Some(port(given).ok_or(())?) };
        Ok(Rule { host, port })
    }
}

impl FromStr for Target {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (host, given) = split(text).ok_or(())?;
        if host == Host::Any {
            return Err(());
        }
        Ok(Target { host, port: port(given).ok_or(())? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(rule: &str, target: &str) -> bool {
        rule.parse::<Rule>().unwrap().covers(&target.parse().unwrap())
    }

    fn listens(rule: &str, target: &str) -> bool {
        rule.parse::<Rule>().unwrap().covers_listening(&target.parse().unwrap())
    }

    #[test]
    fn connections() {
        assert!(covers("127.0.0.1:80", "127.0.0.1:80"));
        assert!(covers("127.0.0.1:*", "127.0.0.1:81"));
        assert!(covers("*:443", "example.org:443"));
        assert!(covers("Example.org:443", "eXample.org:443"));
        assert!(covers("[::1]:*", "[::1]:9"));
        assert!(!covers("127.0.0.1:80", "127.0.0.2:80"));
        assert!(!covers("127.0.0.1:80", "127.0.0.1:81"));
        assert!(!covers("127.0.0.1:*", "localhost:80"));
        assert!(!covers("example.org:443", "evil-example.org:443"));
        assert!(!covers("0.0.0.0:*", "127.0.0.1:80"));
    }

    #[test]
    fn listening() {
        assert!(listens("127.0.0.1:0", "127.0.0.1:0"));
        assert!(listens("127.0.0.1:0", "127.0.0.1:8080"));
        assert!(listens("0.0.0.0:22", "127.0.0.1:22"));
        assert!(!listens("0.0.0.0:22", "[::1]:22"));
        assert!(!listens("127.0.0.1:22", "0.0.0.0:22"));
        assert!(!listens("127.0.0.1:22", "127.0.0.1:0"));
        assert!(!listens("*:22", "127.0.0.1:23"));
    }

    #[test]
    fn what_is_no_address() {
        for text in
            ["", "80", ":80", "a b:80", "::1:80", "[::1]", "[127.0.0.1]:80", "x:+80", "x:70000", "x:", "é.de:80"]
        {
            assert!(text.parse::<Rule>().is_err(), "{text}");
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
        assert!("*:80".parse::<Target>().is_err());
        assert!("x:*".parse::<Target>().is_err());
    }
}
