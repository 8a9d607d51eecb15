//! Workers that sleep, and which of them is woken.

use super::*;

/// A worker's thread that has announced its sleep, and says when it was woken.
fn sleeper(queue: &Arc<Queue<Entry>>, worker: usize, may_suspend: bool) -> std::sync::mpsc::Receiver<usize> {
    let (woken, told) = std::sync::mpsc::channel();
    let (asleep, sleeps) = std::sync::mpsc::channel();
    let queue = queue.clone();
    std::thread::spawn(move || {
        assert!(queue.announce_sleep(worker, may_suspend));
        asleep.send(()).unwrap();
        let end = std::time::Instant::now() + Duration::from_secs(20);
        // A thread may wake without a reason: it was woken once it is off the list.
        while queue.inner.lock().sleepers.iter().any(|sleeper| sleeper.worker == worker) {
            assert!(std::time::Instant::now() < end, "nobody wakes worker {worker}");
            std::thread::park_timeout(Duration::from_millis(50));
        }
        queue.announce_awake();
        // The test may have seen enough.
        let _ = woken.send(worker);
    });
    sleeps.recv().unwrap();
    told
}

fn asleep(queue: &Queue<Entry>) -> Vec<usize> {
    queue.inner.lock().sleepers.iter().map(|sleeper| sleeper.worker).collect()
}

#[test]
fn the_warm_worker_is_woken_else_the_one_that_slept_the_shortest() {
    let queue = Arc::new(queue(8));
    let told: Vec<_> = (0..4).map(|worker| sleeper(&queue, worker, true)).collect();
    queue.warmth().mark(7, 1);
    push(&queue, Priority::Normal, Entry { home: Some(7), ..entry(1) });
    assert_eq!(told[1].recv().unwrap(), 1);
    push(&queue, Priority::Normal, Entry { home: Some(7), ..entry(2) });
    assert_eq!(told[3].recv().unwrap(), 3, "the warm one is awake already");
    push(&queue, Priority::Normal, entry(3));
    assert_eq!(told[2].recv().unwrap(), 2);
    assert_eq!(asleep(&queue), [0]);
    queue.pass_on();
    assert_eq!(told[0].recv().unwrap(), 0);
}

#[test]
fn who_may_not_take_an_entry_is_not_woken_for_it() {
    let queue = Arc::new(queue(8));
    let first = sleeper(&queue, 0, true);
    let second = sleeper(&queue, 1, false);
    push(&queue, Priority::Normal, Entry { suspends: true, ..entry(1) });
    assert_eq!(first.recv().unwrap(), 0);
    push(&queue, Priority::Normal, Entry { suspends: true, ..entry(2) });
    queue.pass_on();
    assert_eq!(asleep(&queue), [1]);
    push(&queue, Priority::Normal, entry(3));
    assert_eq!(second.recv().unwrap(), 1);
}

#[test]
fn nobody_falls_asleep_while_there_is_work_for_him() {
    let queue = queue(8);
    push(&queue, Priority::Normal, Entry { suspends: true, ..entry(1) });
    assert!(!queue.announce_sleep(0, true));
    assert!(queue.announce_sleep(0, false));
    queue.announce_awake();
    assert_eq!(asleep(&queue), [0; 0]);
    push(&queue, Priority::Normal, entry(2));
    assert!(!queue.announce_sleep(0, false));
}

#[test]
fn parked_work_wakes_nobody_until_it_may_be_taken() {
    let queue = Arc::new(queue(8));
    queue.park(true);
    let told = [sleeper(&queue, 0, true), sleeper(&queue, 1, true)];
    push(&queue, Priority::Background, entry(1));
    queue.pass_on();
    assert_eq!(asleep(&queue), [0, 1]);
    queue.park(false);
    assert_eq!(told.map(|told| told.recv().unwrap()), [0, 1]);
}
