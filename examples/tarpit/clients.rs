//! Clients of the tarpit, in a process of their own, so that the server's memory and time can be told from theirs.
//!
//! Says `held` when each has had its first line, measures from the first line of its standard input on, ends with that, and gives its report as
//! lines of text.

use std::io::Write;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};

/// How many connect at a time. A crowd at the door is not what is measured.
const AT_ONCE: usize = 64;

/// What a client tells.
enum Told {
    First,
    /// So many milliseconds later than the interval.
    Line(u64),
    /// The tarpit has let it go, or sent what it must not.
    Lost(String),
}

/// Runs so many clients.
pub async fn run(address: &str, count: usize, interval: Duration) -> Result<(), Box<dyn std::error::Error>> {
    let (tell, mut told) = mpsc::unbounded_channel();
    let (stop, stopped) = watch::channel(false);
    let door = std::sync::Arc::new(tokio::sync::Semaphore::new(AT_ONCE));
    for _ in 0..count {
        let (address, tell, mut stopped, door) = (address.to_owned(), tell.clone(), stopped.clone(), door.clone());
        tokio::spawn(async move {
            let client = async {
                let entered = door.acquire().await;
                let socket = TcpStream::connect(address).await;
                drop(entered);
                match socket {
                    Ok(socket) => listen(socket, interval, &tell).await,
                    Err(error) => error.to_string(),
                }
            };
            tokio::select! {
                why = client => drop(tell.send(Told::Lost(why))),
                _ = stopped.wait_for(|stopped| *stopped) => {}
            }
        });
    }
    drop((tell, stopped));

    let mut input = BufReader::new(tokio::io::stdin()).lines();
    let (mut first, mut lines, mut lost) = (0, 0_u64, 0_u64);
    let mut late = Histogram::<u64>::new_with_bounds(1, 600_000, 3)?;
    let mut whys = std::collections::BTreeMap::<String, u64>::new();
    let mut measuring = false;
    loop {
        tokio::select! {
            told = told.recv() => match told {
                None => break,
                Some(Told::First) => first += 1,
                Some(Told::Line(ms)) => {
                    lines += 1;
                    if measuring {
                        late.saturating_record(ms.max(1));
                    }
                }
                Some(Told::Lost(why)) => {
                    lost += 1;
                    *whys.entry(why).or_default() += 1;
                }
            },
            line = input.next_line(), if !*stop.borrow() => match line? {
                Some(_) => measuring = true,
                None => drop(stop.send(true)),
            },
        }
        if first + lost == count as u64 && !measuring && first > 0 {
            // Once: from here on the parent says what is next.
            first = u64::MAX / 2;
            say("held")?;
        }
    }
    for (why, count) in whys {
        eprintln!("{count} clients were lost: {why}");
    }
    for (name, value) in [
        ("lines", lines),
        ("lost", lost),
        ("p50", late.value_at_quantile(0.5)),
        ("p90", late.value_at_quantile(0.9)),
        ("p99", late.value_at_quantile(0.99)),
        ("max", late.max()),
    ] {
        say(&format!("{name} {value}"))?;
    }
    for step in [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 600_000_u64].windows(2) {
        let low = if step[0] == 1 { 1 } else { step[0] + 1 };
        say(&format!("bar {} {}", step[1], late.count_between(low, step[1])))?;
    }
    Ok(())
}

fn say(line: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

/// Listens until the tarpit lets it go; says why it does.
async fn listen(socket: TcpStream, interval: Duration, tell: &mpsc::UnboundedSender<Told>) -> String {
    // A line is short: no reader with a buffer of its own, of which ten thousand would be eighty megabytes.
    let mut buffer = [0; 64];
    let mut last = None::<Instant>;
    loop {
        if let Err(error) = socket.readable().await {
            return error.to_string();
        }
        let line = match socket.try_read(&mut buffer) {
            Ok(0) => return "the tarpit has hung up".into(),
            Ok(count) => &buffer[..count],
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
            Err(error) => return error.to_string(),
        };
        let hex = line.strip_suffix(b"\r\n");
        if !hex.is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) || line.starts_with(b"SSH-") {
            return format!("no line of a banner: {:?}", String::from_utf8_lossy(line));
        }
        let now = Instant::now();
        let told = match last.replace(now) {
            None => Told::First,
            Some(last) => Told::Line((now - last).saturating_sub(interval).as_millis() as u64),
        };
        if tell.send(told).is_err() {
            return "nobody listens".into();
        }
    }
}
