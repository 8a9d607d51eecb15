//! The tarpit and its clients, measured.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;
use tokio::sync::mpsc;

use crate::{CLIENTS, Tarpit};

/// Between two lines: short, so that a few seconds have many of them.
const INTERVAL: Duration = Duration::from_secs(2);

/// How long all clients are held.
const HOLD: Duration = Duration::from_secs(10);

/// How many clients come and go before, so that what the first ones cost is not counted as the cost of each.
const WARM_UP: usize = 500;

/// What an engine and V8 may take for a client.
const WANTED: u64 = 1024;

type Failure = Box<dyn std::error::Error>;

/// Starts a tarpit and clients, and prints the figures.
pub async fn run() -> Result<(), Failure> {
    // 1. As many descriptors as clients, in this process and in the other one.
    let allowed = rlimit::increase_nofile_limit(CLIENTS as u64 + 200)? as usize;
    let clients = CLIENTS.min(allowed.saturating_sub(200));
    if clients < CLIENTS {
        println!("this process may open {allowed} files only: {clients} clients in place of {CLIENTS}");
    }

    // 2. A tarpit on loopback. It counts the lines of its log.
    let (ready, mut address) = mpsc::unbounded_channel();
    let logged = Arc::new(AtomicUsize::new(0));
    let count = logged.clone();
    let tarpit = Tarpit::new(
        move |address| drop(ready.send(address)),
        move |line| {
            assert!(line.contains(" held for ") && line.contains(" bytes, left: "), "{line}");
            count.fetch_add(1, Ordering::Relaxed);
        },
    )?;
    let run = tokio::spawn(tarpit.run("127.0.0.1:0", INTERVAL, clients));
    let address = tokio::select! {
        address = address.recv() => address,
        () = tokio::time::sleep(Duration::from_secs(20)) => None,
    };
    let Some(address) = address else { return Err(format!("the tarpit does not listen: {:?}", run.await).into()) };

    // 3. Some clients that come and go.
    let mut warm = Clients::start(&address, WARM_UP).await?;
    warm.hold(Duration::ZERO).await?;
    warm.stop().await?;
    until("the first clients are gone", || logged.load(Ordering::Relaxed) == WARM_UP).await?;

    // 4. All of them: memory and time when each has had a line and was held for a while.
    let before = Memory::now(&tarpit);
    let mut crowd = Clients::start(&address, clients).await?;
    crowd.hold(HOLD / 2).await?;
    let (cpu, start) = (cpu_time()?, Instant::now());
    crowd.say("measure").await?;
    let (least, most) = Memory::least_and_most(&tarpit, HOLD).await;
    let (cpu, time) = (cpu_time()?.saturating_sub(cpu), start.elapsed());
    let report = crowd.stop().await?;
    until("each client has its line in the log", || logged.load(Ordering::Relaxed) == WARM_UP + clients).await?;
    assert!(!run.is_finished(), "the tarpit goes on");
    run.abort();

    // 5. The figures.
    let each = |after: u64, before: u64| after.saturating_sub(before) / clients as u64;
    // What is held, as after a collection of V8; at other times its garbage comes on top.
    let bytes = each(least.resident, before.resident);
    println!("{clients} clients, a line each {INTERVAL:?}, held for {:?} and {:?}", HOLD / 2, HOLD);
    println!(
        "memory a client: {bytes} bytes of the process, {} of them in V8's heap; before collections {} and {}",
        each(least.heap, before.heap),
        each(most.resident, before.resident),
        each(most.heap, before.heap)
    );
    println!(
        "cpu of the server: {:.1} % of one core, {} lines in all",
        100.0 * cpu.as_secs_f64() / time.as_secs_f64(),
        report["lines"]
    );
    println!(
        "lateness: p50 {} ms, p90 {} ms, p99 {} ms, max {} ms",
        report["p50"], report["p90"], report["p99"], report["max"]
    );
    let most = report.bars.iter().map(|(_, count)| *count).max().unwrap_or(1).max(1);
    let mut low = 0;
    for (high, count) in &report.bars {
        let range = if *high > 1_000 { format!("above {low}") } else { format!("{low} to {high}") };
        println!("{range:>12} ms {count:>8} {}", "#".repeat((count * 50).div_ceil(most) as usize));
        low = *high;
    }
    let lost = report["lost"];
    println!("tarpit: clients={clients} bytes_per_client={bytes} late_p99_ms={} lost={lost}", report["p99"]);
    if bytes > WANTED {
        println!("wanted are {WANTED} bytes a client at most");
    }
    if lost > 0 { Err(format!("{lost} clients were lost").into()) } else { Ok(()) }
}

async fn until(what: &str, mut condition: impl FnMut() -> bool) -> Result<(), Failure> {
    let end = Instant::now() + Duration::from_secs(60);
    while !condition() {
        if Instant::now() > end {
            return Err(format!("still not so after a minute: {what}").into());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// The other process.
struct Clients {
    process: tokio::process::Child,
    input: tokio::process::ChildStdin,
    output: tokio::io::Lines<BufReader<tokio::process::ChildStdout>>,
}

/// What it says at its end.
struct Report {
    figures: HashMap<String, u64>,
    bars: Vec<(u64, u64)>,
}

impl std::ops::Index<&str> for Report {
    type Output = u64;

    fn index(&self, name: &str) -> &u64 {
        &self.figures[name]
    }
}

impl Clients {
    async fn start(address: &str, count: usize) -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--clients", address, &count.to_string(), &INTERVAL.as_millis().to_string()]);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
        let input = process.stdin.take().ok_or("no pipe")?;
        let output = process.stdout.take().ok_or("no pipe")?;
        Ok(Clients { process, input, output: BufReader::new(output).lines() })
    }

    async fn say(&mut self, line: &str) -> Result<(), Failure> {
        Ok(self.input.write_all(format!("{line}\n").as_bytes()).await?)
    }

    /// Until each has had a line, and so long after that.
    async fn hold(&mut self, time: Duration) -> Result<(), Failure> {
        let said = tokio::time::timeout(Duration::from_secs(120), self.output.next_line()).await??;
        if said.as_deref() != Some("held") {
            return Err(format!("the clients say {said:?}").into());
        }
        tokio::time::sleep(time).await;
        Ok(())
    }

    async fn stop(mut self) -> Result<Report, Failure> {
        drop(self.input);
        let mut report = Report { figures: HashMap::new(), bars: Vec::new() };
        while let Some(line) = self.output.next_line().await? {
            let words: Vec<_> = line.split(' ').collect();
            match words[..] {
                ["bar", high, count] => report.bars.push((high.parse()?, count.parse()?)),
                [name, value] => drop(report.figures.insert(name.to_owned(), value.parse()?)),
                _ => return Err(format!("the clients say {line:?}").into()),
            }
        }
        let status = self.process.wait().await?;
        if status.success() { Ok(report) } else { Err(format!("the clients have failed: {status}").into()) }
    }
}

/// What this process holds.
struct Memory {
    resident: u64,
    heap: u64,
}

impl Memory {
    /// The least and the most of that time.
    async fn least_and_most(tarpit: &Tarpit, time: Duration) -> (Self, Self) {
        let (mut least, mut most) = (Memory::now(tarpit), Memory::now(tarpit));
        let end = Instant::now() + time;
        while Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let now = Memory::now(tarpit);
            least = Memory { resident: least.resident.min(now.resident), heap: least.heap.min(now.heap) };
            most = Memory { resident: most.resident.max(now.resident), heap: most.heap.max(now.heap) };
        }
        (least, most)
    }

    fn now(tarpit: &Tarpit) -> Self {
        let heap = tarpit.engine.stats().workers.iter().map(|worker| worker.heap.get()).sum();
        Memory { resident: resident().unwrap_or(0), heap }
    }
}

/// The memory of this process that is in RAM and no part of a file: without the code of V8 that is read in at its first use.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024)
}

/// The CPU time of this process: user and system.
fn cpu_time() -> Result<Duration, Failure> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The name, in brackets, may hold blanks.
    let rest = stat.rsplit_once(')').ok_or("no figures of this process")?.1;
    let ticks = |at: usize| rest.split_whitespace().nth(at).and_then(|word| word.parse::<u64>().ok());
    let ticks = ticks(11).zip(ticks(12)).map(|(user, system)| user + system).ok_or("no figures of this process")?;
    // A hundred a second on all that runs Linux today.
    Ok(Duration::from_millis(ticks * 10))
}
